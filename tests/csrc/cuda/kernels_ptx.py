"""kernels_ptx.py NVCC [--renew]: is kernels.ptx what NVCC makes of kernels.cu?

Exit code 1: no; 77, which CTest counts as skipped: NVCC is of another release
than the file, and may make other code. --renew writes the file.
"""

import pathlib
import re
import subprocess
import sys

DIRECTORY = pathlib.Path(__file__).parents[3] / "csrc/backends/cuda"
# The oldest that nvcc compiles for, in the oldest language that has it: the
# driver translates it for any later GPU, however old the driver is.
ARCHITECTURE, LANGUAGE = "compute_75", "6.3"


def make(nvcc: str) -> str:
  """The PTX of kernels.cu."""
  command = [nvcc, "-ptx", f"-arch={ARCHITECTURE}", "-std=c++17", "-o", "-"]
  source = DIRECTORY / "kernels.cu"
  found = subprocess.run([*command, source], capture_output=True, text=True)
  if found.returncode != 0:
    sys.exit(found.stderr)
  return re.sub(r"(?m)^\.version .*", f".version {LANGUAGE}", found.stdout)


def release(ptx: str) -> str:
  """The compiler's, as it says in the file."""
  return re.search(r"release \S+, (\S+)", ptx).group(1)


def main():
  """Compares, or writes."""
  file = DIRECTORY / "kernels.ptx"
  made = make(sys.argv[1])
  if "--renew" in sys.argv:
    file.write_text(made)
  kept = file.read_text()
  if release(kept) != release(made):
    print(f"nvcc {release(made)}, kernels.ptx of {release(kept)}")
    sys.exit(77)
  if kept != made:
    sys.exit(f"{file} is not of kernels.cu: run {' '.join(sys.argv)} --renew")


if __name__ == "__main__":
  main()
