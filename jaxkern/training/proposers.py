"""A run's policy as a proposer of kernels."""

import os
import pathlib

from jaxkern.agent.policy_proposer import PolicyProposer
from jaxkern.rollout.collect import Sampler
from jaxkern.training import run


def of_checkpoint(
  workdir: str | os.PathLike, rows: int, temperature: float = 1.0
) -> PolicyProposer:
  """The latest policy of a run's directory.

  Args:
    workdir: of the run.
    rows: proposals at once.
    temperature: of sampling.

  Raises:
    ValueError: it holds no run that has trained.
  """
  config, tokenizer, params = run.load(workdir)
  sampler = Sampler(
    run.make_policy(config, tokenizer),
    params,
    tokenizer,
    tuple(config.prompt_lengths),
    rows,
    temperature,
  )
  return PolicyProposer(sampler, pathlib.Path(workdir).name)
