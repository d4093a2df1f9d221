"""LEAP, its rivals and its halves: the same start, the same tasks, the clock.

python benchmarks/leap.py --device=cpu --workdir=/tmp/leap
python benchmarks/leap.py --device=cuda --workdir=/tmp/leap --stop-after=280

Five settings of configs/leap.py:demo for every seed, one run after the other:
two at once would share the clock that is measured. A seed's runs begin from one
warm start, and each has a cache of its own, as what another has built would
count for it. What is finished is not run again, and what was interrupted goes
on at the step where it was, so that the whole can be spread over stretches of
--stop-after seconds. Writes what there is after every run to
benchmarks/results/leap_DEVICE.json. Arguments after -- go to every run, e.g.
-- --config.rl.prompts=16.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import record

from jaxkern.training import comparison, comparison_page, metrics

SETTINGS = ("leap", "dense", "single", "gate", "tournament")
# What a run leaves before its reinforcement, in which alone settings differ.
_WARM = ("corpus.jsonl", "tokenizer.json", "sft")
_WARM += ("before.jsonl", "new_tasks_before.jsonl")


def main() -> None:
  """Runs what is missing, as far as the time goes, and writes the record."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--device", required=True, choices=("cpu", "cuda"))
  parser.add_argument("--workdir", required=True, help="where the runs live")
  parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
  parser.add_argument(
    "--settings", nargs="+", default=SETTINGS, choices=SETTINGS
  )
  parser.add_argument(
    "--stop-after", type=float, default=float("inf"), metavar="SECONDS"
  )
  parser.add_argument("--out", help="default: benchmarks/results/leap_DEVICE")
  parser.add_argument("rest", nargs="*", metavar="-- ARGUMENT")
  options = parser.parse_args()
  out = pathlib.Path(
    options.out or f"benchmarks/results/leap_{options.device}.json"
  )
  environment = record.environment() | {"device": options.device}
  deadline = time.monotonic() + options.stop_after
  directory = pathlib.Path(options.workdir)
  runs = [(s, seed) for seed in options.seeds for s in options.settings]
  for seed in options.seeds:
    warm = directory / f"warm-{seed}"
    for setting in ("warm", *options.settings):
      workdir = directory / f"{setting}-{seed}"
      if (workdir / "summary.json").exists():
        continue
      if setting != "warm":
        begin(workdir, warm)
      finished = train(workdir, setting, seed, options, deadline)
      gather(directory, runs, environment, out)
      if not finished:
        print(f"time is up in {workdir.name}; the same command goes on")
        return
  gather(directory, runs, environment, out)


def begin(workdir: pathlib.Path, warm: pathlib.Path) -> None:
  """Gives a new run the warm start of another; whole or not at all."""
  if workdir.exists():
    return
  copy = workdir.with_suffix(".copy")
  shutil.rmtree(copy, ignore_errors=True)
  copy.mkdir()
  for name in _WARM:
    place = shutil.copytree if (warm / name).is_dir() else shutil.copy
    place(warm / name, copy / name)
  sft = [json.dumps(line) + "\n" for line in stage(warm, "sft")]
  (copy / "metrics.jsonl").write_text("".join(sft))
  copy.rename(workdir)


def stage(workdir: pathlib.Path, name: str) -> list[dict]:
  """A run's metrics of a stage."""
  lines = metrics.read(workdir / "metrics.jsonl")
  return [line for line in lines if line["stage"] == name]


def train(
  workdir: pathlib.Path, setting: str, seed: int, options, deadline: float
) -> bool:
  """Runs a setting until it is done (True) or time is up (False)."""
  command = [
    *(sys.executable, "-m", "jaxkern.bin.train", f"--workdir={workdir}"),
    f"--config=configs/leap.py:demo-{setting.replace('warm', 'leap')}",
    f"--config.seed={seed}",
    f"--config.device={options.device}",
    *options.rest,
  ]
  if setting == "warm":
    command.append("--config.rl.steps=0")
  print(time.strftime("%H:%M:%S"), " ".join(command[1:]), flush=True)
  left = deadline - time.monotonic()
  try:
    subprocess.run(
      command,
      check=True,
      timeout=None if left == float("inf") else left,
      env={**os.environ, "JAXKERN_CACHE": str(workdir.absolute() / "cache")},
    )
  except subprocess.TimeoutExpired:  # By SIGKILL; it costs a step.
    return False
  return True


def gather(
  directory: pathlib.Path,
  runs: list[tuple[str, int]],
  environment: dict,
  out: pathlib.Path,
) -> None:
  """Writes raw metrics of all runs, and how the finished ones compare."""
  found, finished = [], []
  for setting, seed in runs:
    workdir = directory / f"{setting}-{seed}"
    if not (workdir / "config.json").exists():
      continue  # Not begun.
    one = {"setting": setting, "seed": seed, "summary": None}
    if (workdir / "summary.json").exists():
      one["summary"] = json.loads((workdir / "summary.json").read_text())
      finished.append(str(workdir))
    one["config"] = json.loads((workdir / "config.json").read_text())
    found.append(one | {"rl": stage(workdir, "rl")})
  table = []
  if finished:
    table = comparison_page.table(comparison.methods(finished)).splitlines()
  record.write(
    out,
    {
      **environment,
      "finished": f"{len(finished)} of {len(runs)} runs",
      "table": table,
      "runs": found,
    },
  )
  print("\n".join([*table, f"{out}: {len(finished)} of {len(runs)} runs"]))


if __name__ == "__main__":
  main()
