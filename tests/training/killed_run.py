"""A process to be killed: reinforcement with real verdicts, by tiny's options.

python killed_run.py DIRECTORY STALENESS [STEP TURN]

With STEP and TURN it stops for ever in that turn of that step, when the first
of its kernels has been judged, having written the evaluator's statistics to
DIRECTORY/stopped.json. Otherwise it leaves them in DIRECTORY/finished.json.
"""

import json
import os
import pathlib
import sys
import threading
import time

import bank
import jax
from small_loop import CONFIG

from jaxkern.evaluator import Evaluator, Request
from jaxkern.training import rl, run
from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import Metrics, read

SEED, STEPS = 1, 3
SOURCES = [
  *bank.distinct(bank.RIGHT, 8),
  *bank.distinct(bank.WRONG, 8),
  *bank.distinct(bank.BROKEN, 4),
]
_at = threading.local()  # The step and turn of this thread's rollouts.


def marked(collect):
  """`collect`, which notes the step that its key is of."""
  key = jax.random.key(SEED)
  steps = {
    str(jax.random.key_data(jax.random.fold_in(key, step))): step
    for step in range(STEPS)
  }

  def collecting(sampler, key, *arguments, **options):
    """Collects."""
    _at.step, _at.turn = steps[str(jax.random.key_data(key))], 0
    return collect(sampler, key, *arguments, **options)

  return collecting


def judge(evaluator, directory, stop):
  """Verdicts, until the turn to stop in."""

  def wait_for_ever():
    """When the steps before are done and all is built, says so and stops."""
    while len(read(directory / "metrics.jsonl")) < _at.step:
      time.sleep(0.05)
    idle = 0
    while idle < 10:
      stats = evaluator.stats()
      busy = stats["compiling"] + stats["queued_builds"] + stats["queued_runs"]
      idle = 0 if busy else idle + 1
      time.sleep(0.05)
    made = directory / "stopped.tmp"
    made.write_text(json.dumps(evaluator.stats()))
    made.rename(directory / "stopped.json")
    while True:
      time.sleep(1)

  def watched(pairs):
    """The pairs' requests."""
    for i, (task, source) in enumerate(pairs):
      if i == 1 and (_at.step, _at.turn) == stop:
        wait_for_ever()
      yield Request(task, source)

  def evaluate(pairs):
    """Verdicts of a turn."""
    _at.turn += 1
    return evaluator.evaluate(watched(pairs))

  return evaluate


def main():
  directory, staleness, *stop = sys.argv[1:]
  directory = pathlib.Path(directory)
  rl.collect.collect = marked(rl.collect.collect)
  with (
    Evaluator(
      "cpu", compile_workers=2, cache_dir=directory / "cache", seed=1
    ) as evaluator,
    Metrics(
      directory, resume={"rl": Checkpoints.latest(directory / "rl")}
    ) as metrics,
  ):
    rl.train(
      bank.make_sampler(SOURCES, rows=4),
      ["relu", "tanh"],
      judge(evaluator, directory, tuple(map(int, stop))),
      directory / "rl",
      metrics,
      microbatch=2,
      **run.rl_options(CONFIG.get_config("tiny"))
      | {"steps": STEPS, "seed": SEED, "staleness": int(staleness)},
    )
    (directory / "finished.json").write_text(json.dumps(evaluator.stats()))


if __name__ == "__main__":
  os.environ["JAX_PLATFORMS"] = "cpu"
  main()
