"""How often a policy's kernels are right: pass rate by turn."""

import json
import math
import os
import pathlib
from collections.abc import Sequence

import jax
import numpy as np
import tqdm

from jaxkern.data.jsonl import read_lines
from jaxkern.rollout import collect
from jaxkern.rollout.collect import Evaluate, Rollout, Sampler
from jaxkern.tasks.task import Task

_RESAMPLES = 2000


def evaluate_policy(
  sampler: Sampler,
  tasks: Sequence[Task],
  evaluate: Evaluate,
  path: str | os.PathLike,
  *,
  seed: int,
  samples: int,
  turns: int,
  label: str,
) -> list[dict]:
  """Rolls out `samples` completions per task, every failure repaired.

  Appends one JSON object per rollout to `path`: task, success_turn (null if it
  never passed) and turns, each with source, status, log and speedup. Tasks that
  are in the file already are not sampled again.

  Args:
    sampler: the policy.
    tasks: each is sampled with a key of its own.
    evaluate: the verdicts.
    path: a JSONL file.
    seed: of all sampling.
    samples: rollouts per task.
    turns: K.
    label: of the progress bar.

  Returns:
    The records.
  """
  path = pathlib.Path(path)
  records = read_lines(path)
  counts = {task.name: 0 for task in tasks}
  for record in records:
    counts[record["task"]] += 1
  pending = [task for task in tasks if counts[task.name] < samples]
  # A task that was cut short is sampled anew, as a whole.
  records = [r for r in records if counts[r["task"]] >= samples]
  temporary = path.with_suffix(".tmp")
  temporary.write_text("".join(json.dumps(r) + "\n" for r in records))
  temporary.rename(path)
  together = max(1, sampler.rows // samples)
  bar = tqdm.tqdm(
    total=len(tasks) * samples,
    initial=len(records),
    desc=label,
    unit="rollout",
  )
  with bar, open(path, "a", encoding="utf-8") as file:
    for start in range(0, len(pending), together):
      some = pending[start : start + together]
      index = next(i for i, t in enumerate(tasks) if t.name == some[0].name)
      key = jax.random.fold_in(jax.random.key(seed), index)
      groups, _ = collect.collect(
        sampler,
        key,
        some,
        evaluate,
        group_size=samples,
        turns=turns,
        gate=lambda failures: True,
      )
      made = [as_record(rollout) for group in groups for rollout in group]
      file.write("".join(json.dumps(record) + "\n" for record in made))
      file.flush()
      records += made
      bar.update(len(made))
  return records


def as_record(rollout: Rollout) -> dict:
  """A rollout as JSON."""
  k = rollout.success_turn
  return {
    "task": rollout.task,
    "success_turn": None if math.isinf(k) else int(k),
    "turns": [
      {
        "source": turn.source,
        "status": turn.result.status,
        "log": turn.result.log,
        "speedup": turn.result.speedup,
      }
      for turn in rollout.turns
    ],
  }


def pass_rates(records: Sequence[dict], turns: int) -> dict:
  """pass@k for k = 1..K: the share of rollouts that passed by turn k.

  With each comes its 95 % interval, from a bootstrap that resamples rollouts
  within tasks (the tasks are the suite, not a sample of one), and n.
  """
  by_task: dict[str, list[float]] = {}
  for record in records:
    k = record["success_turn"]
    by_task.setdefault(record["task"], []).append(math.inf if k is None else k)
  rng = np.random.default_rng(0)
  rates: dict = {"n": len(records)}
  for k in range(1, turns + 1):
    passed = [np.array(turns_) <= k for turns_ in by_task.values()]
    rates[f"pass@{k}"] = float(np.concatenate(passed).mean())
    draws = sum(
      rng.choice(p, (_RESAMPLES, len(p))).sum(axis=1) for p in passed
    ) / len(records)
    rates[f"pass@{k}_interval"] = np.quantile(draws, [0.025, 0.975]).tolist()
  return rates
