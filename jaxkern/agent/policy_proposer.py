"""A policy that jaxkern has trained, as a proposer."""

import os
import time

import jax

from jaxkern.agent.context import Window
from jaxkern.agent.proposer import Proposal, Wish
from jaxkern.models.text import *  # noqa: F403
