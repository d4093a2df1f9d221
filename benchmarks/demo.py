"""The demo over several seeds: pass rates before and after reinforcement.

python benchmarks/demo.py --workdir=/tmp/demo

One run per seed, a quarter of an hour each, in --workdir; a run that is there
already is taken as it is, so a benchmark that was interrupted continues.
"""

import argparse
import json
import pathlib
import subprocess
import sys

import record

_STEP = ("step", "pass@1", "pass@2", "pass@3", "seconds_sampling")
_STEP += ("seconds_evaluating", "seconds_updating", "groups_expanded")


def main() -> None:
  """Runs what is missing and gathers the summaries."""
  parser = argparse.ArgumentParser()
  parser.add_argument("--workdir", required=True)
  parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
  parser.add_argument("--out", default="benchmarks/results/demo.json")
  options = parser.parse_args()
  environment = record.environment()
  runs = []
  for seed in options.seeds:
    workdir = pathlib.Path(options.workdir) / f"seed{seed}"
    if not (workdir / "summary.json").exists():
      command = [sys.executable, "-m", "jaxkern.bin.train"]
      command += ["--config=configs/leap.py:demo", f"--config.seed={seed}"]
      subprocess.run([*command, f"--workdir={workdir}"], check=True)
    runs.append(json.loads((workdir / "summary.json").read_text()))
    lines = (workdir / "metrics.jsonl").read_text().splitlines()
    steps = [x for x in map(json.loads, lines) if x["stage"] == "rl"]
    runs[-1]["rl"] = [{name: x[name] for name in _STEP} for x in steps]
  gains = {
    what: [
      100 * (rates["after"]["pass@1"] - rates["before"]["pass@1"])
      for rates in (run if what == "new_sizes" else run[what] for run in runs)
    ]
    for what in ("new_sizes", "new_tasks")
  }
  record.write(
    options.out,
    {**environment, "pass@1_gain_points": gains, "runs": runs},
  )
  for what, values in gains.items():
    print(what, " ".join(f"{value:+.1f}" for value in values), "points")


if __name__ == "__main__":
  main()
