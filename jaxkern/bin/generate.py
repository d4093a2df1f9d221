"""Lets a trained policy write a kernel for a task, and evaluates it.

python -m jaxkern.bin.generate --checkpoint=runs/demo --task=bias_silu
"""

import json
import sys

import jax
from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.evaluator import Evaluator, Request
from jaxkern.rollout.collect import Sampler, collect
from jaxkern.tasks import suite
from jaxkern.training import run

_CHECKPOINT = flags.DEFINE_string("checkpoint", None, "A run's directory.")
_TASK = flags.DEFINE_string("task", None, "See python -m jaxkern.bin.tasks.")
_DEVICE = flags.DEFINE_enum("device", "cpu", ["cpu", "cuda"], "Runs it.")
_TURNS = flags.DEFINE_integer("turns", 3, "Attempts until one passes.")
_TEMPERATURE = flags.DEFINE_float("temperature", 0.0, "0 takes the likeliest.")
_SEED = flags.DEFINE_integer("seed", 0, "Of the sampling.")
_REPETITIONS = flags.DEFINE_integer("repetitions", 20, "Timed launches.")


def main(_) -> None:
  """Samples, evaluates and prints every turn."""
  for flag in (_CHECKPOINT, _TASK):
    if flag.value is None:
      raise ValueError(f"--{flag.name}: expected a value, got none")
  task = suite.get(_TASK.value)
  config, tokenizer, params = run.load(_CHECKPOINT.value)
  sampler = Sampler(
    run.make_policy(config, tokenizer),
    params,
    tokenizer,
    tuple(config.prompt_lengths),
    rows=1,
    temperature=_TEMPERATURE.value,
    conversation=config.get("conversation", False),
  )
  with Evaluator(_DEVICE.value) as evaluator:
    print(evaluator.describe(), file=sys.stderr)
    groups, _ = collect(
      sampler,
      jax.random.key(_SEED.value),
      [task],
      lambda pairs: evaluator.evaluate(
        [Request(t, source, _REPETITIONS.value) for t, source in pairs]
      ),
      group_size=1,
      turns=_TURNS.value,
      gate=lambda failures: True,
    )
  for k, turn in enumerate(groups[0][0].turns, 1):
    print(f"// turn {k}\n{turn.source.rstrip()}\n")
    verdict = turn.result.to_dict()
    del verdict["replay"]  # All of the source once more.
    print(json.dumps(verdict, indent=2))


if __name__ == "__main__":
  jaxkern_bin.run(main)
