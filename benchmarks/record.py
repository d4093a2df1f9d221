"""What every benchmark writes beside its numbers."""

import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys
import time


def environment() -> dict:
  """Command, commit, hardware and versions, to repeat a measurement by."""
  return {
    "command": " ".join(["python", *sys.argv]),
    "date": time.strftime("%Y-%m-%d", time.gmtime()),
    # The variable is for copies of a checkout without its history.
    "commit": os.environ.get("JAXKERN_COMMIT")
    or _output("git", "describe", "--always", "--dirty"),
    "processor": _processor(),
    "cores": len(os.sched_getaffinity(0)),
    # Above zero, others were using the machine too.
    "load_before": os.getloadavg()[0],
    "gpu": _output(
      "nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"
    ),
    "versions": {
      "python": platform.python_version(),
      "c++": _output("c++", "--version").partition("\n")[0],
      "nvcc": _output("nvcc", "--version").rpartition("Build ")[2],
      **{name: importlib.metadata.version(name) for name in ("jax", "numpy")},
    },
  }


def write(path: str | os.PathLike, record: dict) -> None:
  """Writes a record as JSON, one line per innermost list."""
  path = pathlib.Path(path)
  path.parent.mkdir(parents=True, exist_ok=True)
  path.write_text(_text(record, "") + "\n")


def _text(value, indent: str) -> str:
  inner = indent + " "
  if isinstance(value, dict) and value:
    items = [
      f"{inner}{json.dumps(str(k))}: {_text(v, inner)}"
      for k, v in value.items()
    ]
    return "{\n" + ",\n".join(items) + f"\n{indent}}}"
  return json.dumps(value)


def _output(*command: str) -> str:
  try:
    done = subprocess.run(
      command,
      capture_output=True,
      text=True,
      timeout=30,
      cwd=pathlib.Path(__file__).parent,
    )
  except OSError:
    return ""
  return done.stdout.strip() if done.returncode == 0 else ""


def _processor() -> str:
  for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
    if line.startswith("model name"):
      return line.partition(":")[2].strip()
  return platform.machine()
