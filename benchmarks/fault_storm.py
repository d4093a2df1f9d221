"""A thousand candidates, a third of them at fault, in random order.

Every result must be right, none lost, and no process, file, descriptor or
shared-memory segment left behind; the evaluator's memory must not grow. The
kinds of faults are those of tests/evaluator/faults.py.

  python benchmarks/fault_storm.py --device=cpu

Every candidate's text is its own, so that all are compiled, unless --cached.
"""

import argparse
import os
import pathlib
import sys
import tempfile

import record

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests"))

from evaluator import storm  # noqa: E402
from evaluator.conftest import make_task  # noqa: E402

from jaxkern.evaluator import Evaluator  # noqa: E402
from jaxkern.tasks.bundle import write_bundle  # noqa: E402


def failures(done: dict) -> list[str]:
  """What is not as it must be."""
  resident = done["resident_kb"]
  # The first quarter fills caches and allocators.
  grown = resident[-1] - resident[len(resident) // 4]
  checks = {
    "wrong results": len(done["wrong"]),
    "lost results": done["lost"],
    "infra errors": done["stats"]["infra_errors"],
    "processes left": len(done["processes_left"]),
    "files left": len(done["files_left"]),
    "changes of children, descriptors, shared memory": int(
      done["before"] != done["after"]
    ),
    "MiB grown beyond 16": max(0, (grown >> 10) - 16),
  }
  return [f"{count} {what}" for what, count in checks.items() if count]


def main() -> int:
  """Prints a line and writes the record; 1 if something is amiss."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  flags.add_argument("--count", type=int, default=1000)
  flags.add_argument("--seed", type=int, default=0)
  flags.add_argument("--run_workers", type=int, default=1)
  flags.add_argument("--cached", action="store_true")
  flags.add_argument("--out", help="default: benchmarks/results/")
  flags = flags.parse_args()
  environment = record.environment()
  out = flags.out or (
    pathlib.Path(__file__).parent / f"results/fault_storm_{flags.device}.json"
  )
  with tempfile.TemporaryDirectory() as directory:
    os.environ["TMPDIR"] = directory  # of the evaluator's scratch directory
    write_bundle(make_task(), f"{directory}/bundle")
    with Evaluator(flags.device, cache_dir=f"{directory}/cache") as evaluator:
      description = evaluator.describe()
    done = storm.run(
      f"{directory}/bundle",
      storm.make(flags.count, flags.seed, flags.device, description),
      pathlib.Path(directory),
      flags.device,
      distinct=not flags.cached,
      run_workers=flags.run_workers,
    )
  amiss = failures(done)
  print(
    f"{flags.device}: {done['candidates']} candidates, {done['faulty']} faulty,"
    f" {done['seconds']:.0f} s: {', '.join(amiss) or 'all as it must be'}"
  )
  print(*done["wrong"], sep="\n", end="")
  record.write(
    out, {"environment": environment, "seed": flags.seed, "amiss": amiss} | done
  )
  return int(bool(amiss))


if __name__ == "__main__":
  sys.exit(main())
