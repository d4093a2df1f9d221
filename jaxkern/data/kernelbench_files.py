"""KernelBench's own files: eval_results.json, baselines, pass@k; both ways.

Its times are in milliseconds, ours in microseconds. A row is what
jaxkern.rewards.scores reads.
"""

import json
import os
import pathlib
from collections.abc import Mapping, Sequence

import numpy as np

from jaxkern.rewards import scores

# Statuses of candidates that did not compile, in the benchmark's sense.
_NOT_COMPILED = ("extract_error", "compile_error", "unsupported", "timeout")


def write_run(
  directory: str | os.PathLike,
  rows: Sequence[Mapping],
  level: int,
  ks: Sequence[int] = (1,),
) -> None:
  """A run's directory with eval_results.json and pass_at_k_results.json.

  Rows of other levels are left out; `number` is the problem's, `times_us` may
  be absent.
  """
  directory = pathlib.Path(directory)
  directory.mkdir(parents=True, exist_ok=True)
  results: dict[str, list] = {}
  for row in rows:
    if int(row["level"]) == level:
      results.setdefault(str(row["number"]), []).append(_entry(row))
  results = {k: results[k] for k in sorted(results, key=int)}
  _write(directory / "eval_results.json", results)
  _write(directory / "pass_at_k_results.json", _pass_at_k(results, ks))


def write_baseline(
  path: str | os.PathLike, times_us: Mapping[int, Mapping[str, Sequence[float]]]
) -> None:
  """A file of baselines from samples by level and problem's file name."""
  _write(
    pathlib.Path(path),
    {
      f"level{level}": {
        name: statistics(times) for name, times in sorted(problems.items())
      }
      for level, problems in times_us.items()
    },
  )


def read_run(
  directory: str | os.PathLike, level: int, baseline: str | os.PathLike = ""
) -> list[dict]:
  """Rows from a run of the benchmark's own scripts.

  Args:
    directory: with eval_results.json.
    level: that was run.
    baseline: a file of baselines, whose problems are found by their number.

  Raises:
    ValueError: there are no results in it.
  """
  path = pathlib.Path(directory) / "eval_results.json"
  if not path.exists():
    raise ValueError(f"results: expected eval_results.json in {directory}")
  means, names = {}, {}
  if baseline:
    table = json.loads(pathlib.Path(baseline).read_text())
    for name, entry in table.get(f"level{level}", {}).items():
      number = name.partition("_")[0]
      means[number], names[number] = entry["mean"] * 1000, name
  rows = []
  for number, samples in json.loads(path.read_text()).items():
    for entry in samples:
      rows.append(
        {
          "task": names.get(number, number),
          "level": level,
          "number": int(number),
          "sample": entry["sample_id"],
          "status": _status(entry),
          "log": json.dumps(entry.get("metadata", {})),
          "us": max(entry["runtime"], 0) * 1000,
          "baseline_us": means.get(number, 0.0),
        }
      )
  return rows


def statistics(times_us: Sequence[float]) -> dict:
  """In milliseconds, to three digits."""
  times = np.asarray(times_us, float) / 1000
  return {
    "mean": float(f"{times.mean():.3g}"),
    "std": float(f"{times.std():.3g}"),
    "min": float(f"{times.min():.3g}"),
    "max": float(f"{times.max():.3g}"),
    "num_trials": len(times),
  }


def _entry(row: Mapping) -> dict:
  times = row.get("times_us") or ([row["us"]] if row.get("us") else [])
  stats = statistics(times) if times else {}
  right = row["status"] == "ok"
  return {
    "sample_id": row["sample"],
    "compiled": row["status"] not in _NOT_COMPILED,
    "correctness": right,
    "metadata": {"status": row["status"], "log": row.get("log", "")},
    "runtime": stats["mean"] if right and stats else -1.0,
    "runtime_stats": stats if right else {},
  }


def _status(entry: Mapping) -> str:
  told = (entry.get("metadata") or {}).get("status")
  if told:
    return told
  if not entry["compiled"]:
    return "compile_error"
  return "ok" if entry["correctness"] else "wrong_answer"


def _pass_at_k(results: Mapping[str, list], ks: Sequence[int]) -> dict:
  problems = {}
  for number, entries in results.items():
    right = sum(e["compiled"] and e["correctness"] for e in entries)
    total = len(entries)
    problems[number] = {"total_samples": total, "correct_samples": right}
    for k in ks:
      if k <= total:
        value = scores.pass_at_k(total, right, k)
        problems[number][f"pass@{k}"] = value
  averages = {
    f"avg_pass@{k}": sum(p.get(f"pass@{k}", 0) for p in problems.values())
    / max(len(problems), 1)
    for k in ks
  }
  totals = [p["total_samples"] for p in problems.values()]
  metadata = {
    "total_problems": len(problems),
    "problems_with_samples": sum(t > 0 for t in totals),
    "total_evaluated_samples": sum(totals),
    "total_correct_samples": sum(
      p["correct_samples"] for p in problems.values()
    ),
    "pass_at_k_values": list(ks),
  }
  return {"metadata": metadata, "averages": averages, "problems": problems}


def _write(path: pathlib.Path, value: dict) -> None:
  temporary = path.with_suffix(".tmp")
  temporary.write_text(json.dumps(value, indent=2) + "\n")
  temporary.rename(path)
