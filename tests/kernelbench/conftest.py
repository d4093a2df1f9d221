"""What the torch worker's tests share; without torch they are skipped."""

import importlib.util
import os
import sys

import pytest

from jaxkern.evaluator import Evaluator
from jaxkern.evaluator.pairs import Judge
from jaxkern.tasks.torch_worker import TorchWorker

sys.path.insert(0, os.path.dirname(__file__))


@pytest.fixture(scope="session")
def worker():
  if importlib.util.find_spec("torch") is None:
    pytest.skip("torch is not installed (extra [torch])")
  with TorchWorker() as made:
    yield made


@pytest.fixture(scope="session")
def judge(worker, tmp_path_factory):
  cache = tmp_path_factory.mktemp("cache")
  with Evaluator("cpu", cache_dir=cache) as evaluator:
    yield Judge(evaluator, worker, cache / "problems", repetitions=4)
