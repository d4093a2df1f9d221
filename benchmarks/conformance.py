"""The conformance kernels on a device, against numbers worked out by hand.

  python benchmarks/conformance.py --device=cpu --out=cpu.json
  python benchmarks/conformance.py --device=cuda --out=cuda.json \\
    --compare=cpu.json
"""

import argparse
import json
import pathlib
import sys
import tempfile

import record

from jaxkern.evaluator import Evaluator, Request

sys.path.insert(
  0, str(pathlib.Path(__file__).resolve().parents[1] / "tests/conformance")
)

import kernels  # noqa: E402


def judge(device: str) -> tuple[str, dict[str, dict]]:
  """The evaluator's description, and what became of every kernel."""
  names = kernels.names()
  with tempfile.TemporaryDirectory() as directory:
    directory = pathlib.Path(directory)
    requests = [
      Request(kernels.write_bundle(name, directory), kernels.source(name))
      for name in names
    ]
    cache = directory / ".cache"
    with Evaluator(device=device, cache_dir=cache) as evaluator:
      results = evaluator.evaluate(requests)
      description = evaluator.describe()
  fields = ("status", "max_abs_error", "max_rel_error", "mismatches", "log")
  return description, {
    name: {field: getattr(result, field) for field in fields}
    | {"device": result.device}
    for name, result in zip(names, results, strict=True)
  }


def main() -> int:
  """Prints a table and writes the record; 1 if a kernel is not ok."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  flags.add_argument("--out", help="default: benchmarks/results/")
  flags.add_argument("--compare", help="another device's record")
  flags = flags.parse_args()
  out = flags.out or (
    pathlib.Path(__file__).parent / f"results/conformance_{flags.device}.json"
  )
  description, ours = judge(flags.device)
  columns = {flags.device: ours}
  if flags.compare:
    other = json.loads(pathlib.Path(flags.compare).read_text())
    columns[f"{other['device']} (recorded)"] = other["kernels"]
  for title in ("", *columns):
    print(f"{title:24}", end="")
  print()
  for name in sorted(set().union(*columns.values())):
    print(f"{name:24}", end="")
    for column in columns.values():
      row = column.get(name, {"status": "absent", "max_abs_error": 0})
      print(f"{row['status']:12} {row['max_abs_error']:<11.3g}", end="")
    print()
  passed = sum(row["status"] == "ok" for row in ours.values())
  print(f"{flags.device}: {passed} of {len(ours)} as worked out by hand")
  record.write(
    out,
    {
      "environment": record.environment(),
      "evaluator": description,
      "device": flags.device,
      "passed": passed,
      "kernels": ours,
    },
  )
  return int(passed != len(ours))


if __name__ == "__main__":
  sys.exit(main())
