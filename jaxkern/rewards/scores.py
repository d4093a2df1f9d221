"""What verdicts on many tasks amount to: pass@k, fast_p, means, intervals.

Pure. A row is one sample of one task: {'task', 'level', 'sample', 'status',
'raw_status', 'us', 'baseline_us', 'flops', 'bytes'}; `status` is the
evaluator's, `raw_status` what it would be without the rules about cheating
(absent: the same). Both are scored, side by side.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

THRESHOLDS = (0.0, 0.5, 0.8, 1.0, 1.5, 2.0)
_RESAMPLES = 2000


def pass_at_k(samples: int, correct: int, k: int) -> float:
  """1 - C(n - c, k) / C(n, k): unbiased, for k <= n (arXiv 2107.03374).

  Raises:
    ValueError: not 0 <= c <= n, or not 1 <= k <= n.
  """
  if not 0 <= correct <= samples:
    raise ValueError(f"correct: expected 0 to {samples}, got {correct}")
  if not 1 <= k <= samples:
    raise ValueError(f"k: expected 1 to {samples}, got {k}")
  return 1 - math.comb(samples - correct, k) / math.comb(samples, k)


def fast_p(
  correct: Sequence[bool],
  baseline: Sequence[float],
  actual: Sequence[float],
  p: float,
) -> float:
  """The share of tasks whose kernel is right and more than p times as fast.

  KernelBench's: of all tasks, wrong ones included; strictly more than p.
  """
  if not len(correct):
    return 0.0
  ratios = [
    b / a if c else -math.inf for c, b, a in _three(correct, baseline, actual)
  ]
  return sum(r > p for r in ratios) / len(ratios)


def geometric_mean(values: Sequence[float]) -> float:
  """exp(mean(log v)); 0 of nothing, as KernelBench has it."""
  if not len(values):
    return 0.0
  return math.exp(math.fsum(map(math.log, values)) / len(values))


def mean_speedup(
  correct: Sequence[bool],
  baseline: Sequence[float],
  actual: Sequence[float],
  faster_only: bool = False,
) -> float:
  """The geometric mean over right kernels, or those above 1 of them."""
  ratios = [b / a for c, b, a in _three(correct, baseline, actual) if c]
  return geometric_mean([r for r in ratios if r > 1 or not faster_only])


def roofline_share(
  us: float,
  flops: float,
  bytes_moved: float,
  peak_flops: float,
  bandwidth: float,
) -> float:
  """The least time the device could take, by the time that was taken.

  Args:
    us: measured, in microseconds.
    flops, bytes_moved: of the task.
    peak_flops: per second.
    bandwidth: bytes per second.
  """
  return max(flops / peak_flops, bytes_moved / bandwidth) * 1e6 / us


def bootstrap(
  sums: Sequence[float],
  counts: Sequence[float] | None = None,
  seed: int = 0,
) -> list[float]:
  """The 95 % interval of sum(sums) / sum(counts) when tasks are drawn anew.

  Args:
    sums: of each task.
    counts: what it is a sum of; default: 1, and the statistic is the mean.
    seed: of the drawing.
  """
  sums = np.asarray(sums, float)
  if not sums.size:
    return [0.0, 0.0]
  counts = np.ones(sums.size) if counts is None else np.asarray(counts, float)
  rng = np.random.default_rng(seed)
  drawn = rng.integers(0, sums.size, (_RESAMPLES, sums.size))
  ratios = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
  return np.quantile(ratios, [0.025, 0.975]).tolist()


def summarise(
  rows: Sequence[Mapping],
  ks: Sequence[int] = (1,),
  thresholds: Sequence[float] = THRESHOLDS,
) -> dict:
  """Scores by level ('1', ..., and 'all'), each filtered and raw.

  {'all': {'tasks', 'samples', 'infra_errors', 'filtered': {...}, 'raw': ...}},
  where a score is {'value', 'interval'}. An infra_error is not right; how many
  there are is told, since it is not known what they are. fast_p and pass@k are
  means over tasks of the mean over a task's samples; with one sample each that
  is KernelBench's. Speedups are of right kernels with both times, `n` of them.
  pass@k is left out where a task has fewer than k samples.
  """
  levels = sorted({str(row["level"]) for row in rows})
  return {
    level: _scores(
      [r for r in rows if level in ("all", str(r["level"]))], ks, thresholds
    )
    for level in ["all", *levels]
  }


def _scores(rows, ks, thresholds) -> dict:
  tasks: dict[str, list] = {}
  for row in rows:
    tasks.setdefault(f"{row['level']}/{row['task']}", []).append(row)
  made: dict = {"tasks": len(tasks), "samples": len(rows)}
  made["infra_errors"] = sum(row["status"] == "infra_error" for row in rows)
  for label in ("filtered", "raw"):
    groups = [
      [(_right(row, label), _ratio(row)) for row in group]
      for group in tasks.values()
    ]
    made[label] = _side(groups, ks, thresholds)
  return made


def _right(row: Mapping, label: str) -> bool:
  status = row["status"]
  if label == "raw":
    status = row.get("raw_status") or status
  return status == "ok"


def _ratio(row: Mapping) -> float:
  us, baseline = row.get("us") or 0, row.get("baseline_us") or 0
  return baseline / us if us > 0 and baseline > 0 else 0.0


def _side(groups: list[list[tuple[bool, float]]], ks, thresholds) -> dict:
  scores = {}
  for k in ks:
    if groups and min(map(len, groups)) >= k:
      values = [
        pass_at_k(len(group), sum(c for c, _ in group), k) for group in groups
      ]
      scores[f"pass@{k}"] = _mean(values)
  for p in thresholds:
    # fast_0 is the share of right answers, timed or not.
    values = [
      float(np.mean([c and (r > p or p == 0) for c, r in group]))
      for group in groups
    ]
    scores[f"fast_{p:g}"] = _mean(values)
  ratios = [[r for c, r in group if c and r > 0] for group in groups]
  ratios = [group for group in ratios if group]
  logs = [math.fsum(map(math.log, group)) for group in ratios]
  interval = bootstrap(logs, [len(group) for group in ratios])
  scores["geometric_mean_speedup"] = {
    "value": geometric_mean([r for group in ratios for r in group]),
    "interval": [math.exp(x) if ratios else 0.0 for x in interval],
    "n": sum(map(len, ratios)),
  }
  return scores


def _mean(values: list[float]) -> dict:
  value = sum(values) / len(values) if values else 0.0
  return {"value": value, "interval": bootstrap(values)}


def _three(correct, baseline, actual):
  if not len(correct) == len(baseline) == len(actual):
    raise ValueError(
      "correct, baseline, actual: expected equal lengths, got"
      f" {len(correct)}, {len(baseline)}, {len(actual)}"
    )
  return zip(correct, baseline, actual, strict=True)
