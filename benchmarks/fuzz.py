"""Fuzzes the readers of bundles, request lines and candidates.

Builds tests/fuzz with clang's libFuzzer, AddressSanitizer and UBSan, and lets
each fuzzer search for --minutes from the saved inputs. Findings are printed,
kept in --build/findings and make the exit code 1; once they are understood,
save them to tests/fuzz/corpus, where ctest reads them again.

Needs clang++ with its runtime library (Debian: clang, libclang-rt-14-dev).
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import record

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUZZERS = ("problem", "request_line", "rewrite", "split", "candidate")
# Inputs that the tests hold already.
SEEDS = {
  "rewrite": [ROOT / "tests/conformance"],
  "split": [ROOT / "tests/conformance"],
  "candidate": [
    ROOT / "tests/torchform/corpus",
    ROOT / "tests/torchform/wrong",
  ],
}
DICTIONARIES = {"rewrite": "source", "split": "source", "candidate": "source"}
SANITIZE = "address,undefined"


def main():
  """Reads the flags, builds, runs, records."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--minutes", type=float, default=10, help="each")
  parser.add_argument("--fuzzers", nargs="+", default=FUZZERS)
  parser.add_argument("--compiler", default="clang++")
  parser.add_argument("--build", default=ROOT / "build/fuzz", type=pathlib.Path)
  parser.add_argument(
    "--out", default=ROOT / "benchmarks/results/fuzz.json", type=pathlib.Path
  )
  flags = parser.parse_args()
  environment = record.environment()
  build(flags.compiler, flags.build)
  findings = flags.build / "findings"
  running = {
    name: start(flags.build, name, flags.minutes * 60, findings)
    for name in flags.fuzzers
  }
  results = {name: finish(name, *running[name]) for name in running}
  version = subprocess.run(
    [flags.compiler, "--version"], capture_output=True, text=True, check=True
  ).stdout.partition("\n")[0]
  known = json.loads(flags.out.read_text()) if flags.out.exists() else {}
  record.write(
    flags.out,
    {
      **environment,
      "compiler": version,
      "sanitizers": SANITIZE,
      "minutes_each": flags.minutes,
      # Of those that did not run now, what is known stays.
      "fuzzers": known.get("fuzzers", {}) | results,
    },
  )
  for name, result in results.items():
    print(name, result)
  sys.exit(any(result["findings"] for result in results.values()))


def build(compiler: str, directory: pathlib.Path) -> None:
  """Builds the fuzzers alone."""
  subprocess.run(
    [
      *("cmake", "-S", ROOT, "-B", directory, "-DJAXKERN_FUZZ=ON"),
      *(f"-DCMAKE_CXX_COMPILER={compiler}", "-DCMAKE_BUILD_TYPE=Release"),
      *(f"-DJAXKERN_SANITIZE={SANITIZE}",),
      f"-DPython3_EXECUTABLE={sys.executable}",
    ],
    check=True,
    stdout=subprocess.DEVNULL,
  )
  targets = [f"fuzz_{name}" for name in FUZZERS]
  subprocess.run(
    ["cmake", "--build", directory, "-j2", "--target", *targets],
    check=True,
    stdout=subprocess.DEVNULL,
  )


def start(
  directory: pathlib.Path, name: str, seconds: float, findings: pathlib.Path
) -> tuple[subprocess.Popen, pathlib.Path, pathlib.Path, float]:
  """Starts one fuzzer on a corpus of its own, beside the saved one."""
  place = pathlib.Path(tempfile.mkdtemp(prefix=f"jaxkern-fuzz-{name}-"))
  (place / "corpus").mkdir()
  (place / "findings").mkdir()
  log = open(place / "log", "w")
  process = subprocess.Popen(
    [
      directory / "fuzz" / f"fuzz_{name}",
      place / "corpus",
      ROOT / "tests/fuzz/corpus" / name,
      *SEEDS.get(name, []),
      f"-dict={ROOT}/tests/fuzz/{DICTIONARIES.get(name, name)}.dict",
      f"-artifact_prefix={place}/findings/",
      f"-max_total_time={round(seconds)}",
      *("-max_len=8192", "-timeout=20", "-rss_limit_mb=2048"),
      *("-malloc_limit_mb=1024", "-print_final_stats=1"),
    ],
    stdout=log,
    stderr=log,
    env=os.environ | {"TMPDIR": str(place)},
  )
  return process, place, findings / name, time.monotonic()


def finish(
  name: str,
  process: subprocess.Popen,
  place: pathlib.Path,
  findings: pathlib.Path,
  started: float,
) -> dict:
  """Waits for a fuzzer; what it did and what it found."""
  code = process.wait()
  log = (place / "log").read_text(errors="replace")
  found = sorted((place / "findings").iterdir())
  if found or code != 0:
    findings.mkdir(parents=True, exist_ok=True)
    for path in found:
      shutil.copy(path, findings)
    print(f"{name}: exit code {code}, findings in {findings}\n{log[-4000:]}")
  executed = re.search(r"number_of_executed_units:\s*(\d+)", log)
  coverage = re.findall(r"cov: (\d+) ft: (\d+)", log)
  result = {
    "seconds": round(time.monotonic() - started),
    "executions": int(executed[1]) if executed else 0,
    "edges": int(coverage[-1][0]) if coverage else 0,
    "features": int(coverage[-1][1]) if coverage else 0,
    "corpus": len(list((place / "corpus").iterdir())),
    "findings": max(len(found), int(code != 0)),
  }
  shutil.rmtree(place)
  return result


if __name__ == "__main__":
  main()
