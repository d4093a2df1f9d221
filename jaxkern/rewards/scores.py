"""What verdicts on many tasks amount to: pass@k, fast_p, means, intervals.

Pure. A row is one sample of one task: {'task', 'level', 'sample', 'status',
'raw_status', 'us', 'baseline_us', 'flops', 'bytes'}; `status` is the
evaluator's, `raw_status` what it would be without the rules about cheating
(absent: the same). Both are scored, side by side.
"""

import math
from collections.abc import Callable, Mapping, Sequence

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
  ratios = [b / a if c else -math.inf for c, b, a in _three(
    correct, baseline, actual
  )]
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
  values: Sequence, statistic: Callable[[list], float], seed: int = 0
) -> list[float]:
  """The 95 % interval of a statistic when tasks are drawn anew."""
  if not len(values):
    return [0.0, 0.0]
  rng = np.random.default_rng(seed)
  draws = [
    statistic([values[i] for i in rng.integers(0, len(values), len(values))])
    for _ in range(_RESAMPLES)
  ]
  return np.quantile(draws, [0.025, 0.975]).tolist()


def summarise(
  rows: Sequence[Mapping],
  ks: Sequence[int] = (1,),
  thresholds: Sequence[float] = THRESHOLDS,
) -> dict:
  """Scores by level ('1', ..., and 'all'), each filtered and raw.

  {'all': {'tasks', 'samples', 'filtered': {...}, 'raw': {...}}}, where a score
  is {'value', 'interval'}. fast_p and pass@k are means over tasks of the mean
  over a task's samples; with one sample each that is KernelBench's. Speedups
  are of right kernels with both times, `n` of them. pass@k is left out where a
  task has fewer than k samples.
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

  def mean(groups: list[list[float]]) -> float:
    """Over all samples of the tasks that were drawn."""
    return geometric_mean([r for group in groups for r in group])

  scores["geometric_mean_speedup"] = {
    "value": mean(ratios),
    "interval": bootstrap(ratios, mean),
    "n": sum(map(len, ratios)),
  }
  return scores


def _mean(values: list[float]) -> dict:
  def mean(drawn: list[float]) -> float:
    """Of what was drawn."""
    return sum(drawn) / len(drawn) if drawn else 0.0

  return {"value": mean(values), "interval": bootstrap(values, mean)}


def _three(correct, baseline, actual):
  if not len(correct) == len(baseline) == len(actual):
    raise ValueError(
      "correct, baseline, actual: expected equal lengths, got"
      f" {len(correct)}, {len(baseline)}, {len(actual)}"
    )
  return zip(correct, baseline, actual, strict=True)
