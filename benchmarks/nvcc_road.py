"""nvcc against its own steps run side by side, without a GPU.

  python benchmarks/nvcc_road.py build/cpp/tests/cuda_nvcc_corpus

Builds every kernel of the conformance suite and of the cheats, and the
baselines of all tasks, by plain nvcc and by the steps that the evaluator takes
from nvcc's dry run, in turns. Device code and symbols must be the same: if one
differs, it is named and the exit code is 1. Ends with one line of JSON; the
record goes to benchmarks/results/.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import record
import tqdm

ROOT = pathlib.Path(__file__).resolve().parent.parent


def corpus(scratch: pathlib.Path) -> list[pathlib.Path]:
  """Files with candidates; the tasks' baselines are written to `scratch`."""
  from jaxkern.tasks import suite

  files = []
  for name in suite.names():
    files.append(scratch / f"task_{name.replace('/', '_')}.cu")
    files[-1].write_text(suite.get(name).baseline)
  for folder in ("tests/conformance", "tests/cheats/corpus"):
    files += sorted((ROOT / folder).glob("*.cu"))
  return files


def build(tool: str, repeats: int, files: list[pathlib.Path], scratch) -> list:
  """What the tool says of each file."""
  command = [tool, str(scratch), str(repeats), *map(str, files)]
  lines = []
  with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
    for line in tqdm.tqdm(run.stdout, total=len(files), unit="kernel"):
      lines.append(json.loads(line))
  if run.returncode != 0 or len(lines) != len(files):
    raise RuntimeError(f"{tool}: exit code {run.returncode}")
  return lines


def main():
  """Builds, compares, writes the record and prints its figures."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("tool", help="cuda_nvcc_corpus of the C++ tests")
  parser.add_argument("--repeats", type=int, default=1, help="of each build")
  parser.add_argument("--every", type=int, default=1, help="take each nth file")
  parser.add_argument("--scratch", help="where to build; default: /tmp")
  cores = len(os.sched_getaffinity(0))
  parser.add_argument(
    "--out", default=ROOT / f"benchmarks/results/nvcc_road_{cores}cores.json"
  )
  flags = parser.parse_args()
  environment = record.environment()
  with tempfile.TemporaryDirectory(dir=flags.scratch) as scratch:
    scratch = pathlib.Path(scratch)
    files = corpus(scratch)[:: flags.every]
    lines = build(flags.tool, flags.repeats, files, scratch)
  same = ("same_verdict", "same_device_code", "same_symbols")
  different = [x["file"] for x in lines if not all(x[key] for key in same)]
  built = [line for line in lines if line["built"]]
  nvcc = statistics.median(min(line["nvcc_s"]) for line in built)
  steps = statistics.median(min(line["steps_s"]) for line in built)
  figures = {
    "kernels": len(lines),
    "built": len(built),
    "different": different,
    "nvcc_s_median": nvcc,
    "steps_s_median": steps,
    "ratio": nvcc / steps,
    "cores": cores,
  }
  record.write(
    flags.out, {"environment": environment, **figures, "builds": lines}
  )
  print(json.dumps(figures))
  if different:
    sys.exit(1)


if __name__ == "__main__":
  main()
