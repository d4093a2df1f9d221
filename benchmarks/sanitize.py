"""Builds csrc with sanitizers and runs its C++ tests under them.

AddressSanitizer with UndefinedBehaviorSanitizer, then ThreadSanitizer. The
workers of the tests are built with them too; what they print is the
evaluator's business, so a report of theirs shows as a wrong status.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The workers' signals stay the kernel's, since tests ask for them; leaks are
# looked for where they would grow, in the evaluator's process.
OPTIONS = {
  "ASAN_OPTIONS": "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:"
  "handle_abort=0:handle_sigill=0:allocator_may_return_null=1:"
  "detect_stack_use_after_return=0",
  "UBSAN_OPTIONS": "print_stacktrace=1",
  "TSAN_OPTIONS": "handle_segv=0:handle_sigbus=0:handle_sigfpe=0:"
  "handle_abort=0:handle_sigill=0:second_deadlock_stack=1",
}


def main():
  """Reads the flags, builds, runs, records."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument(
    "--sanitizers", nargs="+", default=["address,undefined", "thread"]
  )
  parser.add_argument("--jobs", default="2")
  parser.add_argument("--tests", default=".", help="a regular expression")
  parser.add_argument("--build", default=ROOT / "build", type=pathlib.Path)
  parser.add_argument(
    "--out",
    default=ROOT / "benchmarks/results/sanitize.json",
    type=pathlib.Path,
  )
  flags = parser.parse_args()
  environment = record.environment()
  results = {}
  for sanitizer in flags.sanitizers:
    directory = flags.build / f"sanitize-{sanitizer.replace(',', '-')}"
    build(sanitizer, directory, flags.jobs)
    results[sanitizer] = test(directory, flags.tests)
    print(sanitizer, results[sanitizer], flush=True)
  known = json.loads(flags.out.read_text()) if flags.out.exists() else {}
  # Of those that did not run now, what is known stays.
  results = known.get("sanitizers", {}) | results
  record.write(flags.out, {**environment, "sanitizers": results})
  sys.exit(any(result["failed"] for result in results.values()))


def build(sanitizer: str, directory: pathlib.Path, jobs: str) -> None:
  """Builds the project and its C++ tests."""
  subprocess.run(
    [
      *("cmake", "-S", ROOT, "-B", directory, "-DCMAKE_BUILD_TYPE=Debug"),
      "-DJAXKERN_TESTS=ON",
      f"-DJAXKERN_SANITIZE={sanitizer}",
      f"-DPython3_EXECUTABLE={sys.executable}",
    ],
    check=True,
    stdout=subprocess.DEVNULL,
  )
  subprocess.run(
    ["cmake", "--build", directory, "-j", jobs],
    check=True,
    stdout=subprocess.DEVNULL,
  )


def fixed_addresses() -> list[str]:
  """A prefix without which ThreadSanitizer refuses some kernels' layouts."""
  prefix = ["setarch", "-R"]
  try:
    done = subprocess.run([*prefix, "true"], capture_output=True)
  except OSError:
    return []
  return prefix if done.returncode == 0 else []


def test(directory: pathlib.Path, only: str) -> dict:
  """Runs ctest; how many passed, which failed."""
  start = time.monotonic()
  done = subprocess.run(
    [
      *fixed_addresses(),
      *("ctest", "--test-dir", directory, "--output-on-failure", "-R", only),
    ],
    capture_output=True,
    text=True,
    env=os.environ | OPTIONS,
  )
  passed = re.findall(r"(\S+) \.+\s+Passed", done.stdout)
  failed = re.findall(r"(\S+) \.+\s*\**(?:Failed|Timeout|.*Exce)", done.stdout)
  if failed or done.returncode != 0:
    print(done.stdout, done.stderr)
  return {
    "seconds": round(time.monotonic() - start),
    "passed": len(passed),
    "failed": failed or ([] if passed else ["no test ran"]),
  }


if __name__ == "__main__":
  main()
