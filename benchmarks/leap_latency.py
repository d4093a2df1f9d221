"""Where the gate pays: recorded runs on the clock of another sandbox.

python benchmarks/leap_latency.py benchmarks/results/leap_cpu.json

Takes what benchmarks/leap.py has recorded (kernels per turn, seconds of
sampling and updating, accuracy) and asks how long the same steps would have
taken with W verifiers of L seconds each (jaxkern/training/latency.py), instead
of the recorded seconds of evaluating. Nothing is run and nobody waits: how fast
verdicts come changes none of them. Per L: seconds of a step, in times of
LEAP's, and the time to equal first-turn accuracy, with a bootstrap over seeds.
Writes benchmarks/results/leap_latency.json and a plot.
"""

import argparse
import json
import math
import pathlib

import matplotlib

matplotlib.use("svg")
import numpy as np  # noqa: E402
import record  # noqa: E402
from matplotlib import pyplot  # noqa: E402

from jaxkern.training import comparison, latency  # noqa: E402

LATENCIES = [0.0, *np.round(np.geomspace(0.01, 300, 28), 4).tolist()]
OURS = "leap"


def main() -> None:
  """Reads a record, replays it at every latency, writes both."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("recorded", help="of benchmarks/leap.py")
  parser.add_argument("--verifiers", type=int, default=16)
  parser.add_argument("--out", default="benchmarks/results/leap_latency.json")
  parser.add_argument("--plot", default="docs/leap_latency.svg")
  options = parser.parse_args()
  recorded = json.loads(pathlib.Path(options.recorded).read_text())
  found = sweep(recorded["runs"], options.verifiers)
  record.write(
    options.out,
    {
      **record.environment(),
      "simulated": "the clock of verification; all else is recorded",
      "verifiers": options.verifiers,
      "recorded": {
        k: recorded.get(k)
        for k in ("command", "commit", "device", "processor", "cores", "gpu")
        + ("load_before", "finished")
      },
      **found,
    },
  )
  draw(found, options.verifiers, options.plot)
  print("\n".join(said(found)))


def step_seconds(line: dict, latency_s: float, verifiers: int) -> float:
  """A recorded step's seconds, with verdicts of a simulated sandbox."""
  taken = [line[k] for k in sorted(line) if k.startswith("turns@")]
  judged = [line[k] for k in sorted(line) if k.startswith("judged@")]
  # Sampling was recorded as a whole; a turn's share is that of its rollouts.
  per_turn = line["seconds_sampling"] / sum(taken)
  return line["seconds_updating"] + sum(
    latency.seconds(kernels, per_turn * turns, latency_s, verifiers)
    for kernels, turns in zip(judged, taken, strict=True)
  )


def replay(
  run: dict, latency_s: float, verifiers: int, memory: float = 0.7
) -> comparison.Run:
  """A recorded run on the simulated clock."""
  seconds = [step_seconds(line, latency_s, verifiers) for line in run["rl"]]
  return comparison.Run(
    run["seed"],
    np.cumsum(seconds),
    comparison.smooth([line["pass@1"] for line in run["rl"]], memory),
    *(0.0, 0.0, 0.0, {}),
  )


def sweep(runs: list[dict], verifiers: int) -> dict:
  """Costs and times at every latency, and where each rival is slower.

  Raises:
    ValueError: no recorded run of LEAP, or none of a rival.
  """
  names = dict.fromkeys(run["setting"] for run in runs if run["rl"])
  if OURS not in names or len(names) < 2:
    raise ValueError(
      f"recorded: expected runs of {OURS} and of a rival, got {list(names)}"
    )
  rivals = [name for name in names if name != OURS]
  points = []
  for latency_s in LATENCIES:
    groups = {
      name: [
        replay(run, latency_s, verifiers)
        for run in runs
        if run["setting"] == name and run["rl"]
      ]
      for name in names
    }
    costs = {name: _step(group) for name, group in groups.items()}
    point = {"latency_s": latency_s, f"{OURS}_step_s": costs[OURS], "cost": {}}
    point["times"] = {}
    levels = comparison.levels(groups)
    for name in rivals:
      point["cost"][name] = costs[name] / costs[OURS]
      ratios = [comparison.ratio(groups[name], groups[OURS], x) for x in levels]
      point["times"][name] = [
        {"level": level, "ratio": value, "interval": interval}
        for level, (value, interval) in zip(levels, ratios, strict=True)
      ]
    points.append(point)
  return {
    "points": points,
    "slower_step": {
      name: _above(points, [p["cost"][name] for p in points]) for name in rivals
    },
    "slower_to_accuracy": {
      name: _above(points, [_mean_ratio(p["times"][name]) for p in points])
      for name in rivals
    },
  }


def _step(group: list[comparison.Run]) -> float:
  """Seconds of a step: the median of each run, as first steps compile."""
  steps = [np.diff(run.seconds, prepend=0.0) for run in group]
  return float(np.mean([np.median(one) for one in steps]))


def _mean_ratio(times: list[dict]) -> float:
  """The geometric mean over levels; not a number without any."""
  if not times:
    return math.nan
  return math.exp(np.mean([math.log(x["ratio"]) for x in times]))


def _above(points: list[dict], values: list[float]) -> list[list[float]]:
  """Ranges of latency, [first, last], in which values are above 1."""
  ranges: list[list[float]] = []
  inside = False
  for point, value in zip(points, values, strict=True):
    if value > 1 and not inside:
      ranges.append([point["latency_s"]] * 2)
    inside = value > 1
    if inside:
      ranges[-1][1] = point["latency_s"]
  return ranges


def said(found: dict) -> list[str]:
  """What there is to read in it, line by line."""
  lines = [f"L, s  {OURS} step, s   step and time to accuracy, in {OURS}'s"]
  for point in found["points"][::3]:
    cells = []
    for name, cost in point["cost"].items():
      time = _mean_ratio(point["times"][name])
      # "-": no accuracy that all runs rise to.
      cells.append(
        f"{name} {cost:.2f} {'-' if math.isnan(time) else f'{time:.2f}'}"
      )
    lines.append(
      f"{point['latency_s']:7.2f} {point[f'{OURS}_step_s']:9.1f}   "
      + "   ".join(cells)
    )
  for what in ("slower_step", "slower_to_accuracy"):
    for name, ranges in found[what].items():
      text = ", ".join(f"{a:g} to {b:g} s" for a, b in ranges) or "nowhere"
      lines.append(f"{what}: {name} {text}")
  return lines


def draw(found: dict, verifiers: int, out: str) -> None:
  """Both ratios against latency; above 1 LEAP is faster."""
  figure, plots = pyplot.subplots(1, 2, figsize=(9, 3.4), sharex=True)
  points = found["points"]
  # A logarithm has no 0: it is drawn where the others begin.
  clock = [max(p["latency_s"], LATENCIES[1]) for p in points]
  for name in points[0]["cost"]:
    plots[0].plot(clock, [p["cost"][name] for p in points], label=name)
    times = [_mean_ratio(p["times"][name]) for p in points]
    plots[1].plot(clock, times, label=name)
  for axes, title in zip(
    plots, ("seconds of a step", "time to equal accuracy"), strict=True
  ):
    axes.axhline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set(
      title=title,
      xlabel=f"seconds of a verification (simulated), {verifiers} verifiers",
      ylabel="in times of LEAP's",
    )
  plots[0].legend(frameon=False)
  figure.tight_layout()
  with pyplot.rc_context({"svg.hashsalt": "latency"}):
    figure.savefig(out, format="svg", metadata={"Date": None})
  pyplot.close(figure)


if __name__ == "__main__":
  main()
