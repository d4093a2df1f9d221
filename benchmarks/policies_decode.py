"""How fast policies write and learn, beside the floor and beside transformers.

Each part runs in a process of its own, so that no two share a GPU's memory:

  bandwidth       bytes per second of a copy, read and written
  autoregressive  tokens per second of a whole call: prompts read, new tokens
                  drawn at temperature 1, none of which ends a row
  block_diffusion the same by a denoiser of blocks of 4, in 4, 2 and 1 steps
                  each; another pass keeps what was written
  training        tokens per second of a whole update, and the share of the
                  device's peak that its model's operations are
  profile         kernels on which a GPU spends such a call
  transformers    what the second part does, by `generate` with a static cache,
                  compiled, random weights of the same shape; needs torch and
                  transformers

The floor of a step is the bytes of weights and filled cache over the bandwidth.
What a part has measured is kept when its time is over.

  python benchmarks/policies_decode.py --shape=1.7B --batches=1,16,64,256
  python benchmarks/policies_decode.py --shape=tiny --new=8   # no GPU
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import policies_parts
import record

PARTS = (
  "bandwidth",
  "autoregressive",
  "block_diffusion",
  "training",
  "transformers",
  "profile",
)
_HERE = pathlib.Path(__file__).parent


def measured(part: str, arguments: argparse.Namespace, seconds: float) -> dict:
  """What a part's process prints, a line of JSON per sample."""
  script = "transformers" if part == "transformers" else "parts"
  command = [
    sys.executable,
    str(_HERE / f"policies_{script}.py"),
    f"--part={part}",
    *(f"--{k}={v}" for k, v in vars(arguments).items() if k not in _OURS),
  ]
  # Of the GPU's memory; an update of 1.7B wants more than the usual 75 %.
  environment = {"XLA_PYTHON_CLIENT_MEM_FRACTION": "0.92", **os.environ}
  began = time.monotonic()
  process = subprocess.Popen(
    command,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    env=environment,
    start_new_session=True,  # torch's compilers are its children.
  )
  try:
    out, err = process.communicate(timeout=seconds)
    failure = err.decode()[-2000:] if process.returncode else None
  except subprocess.TimeoutExpired:
    os.killpg(process.pid, signal.SIGKILL)
    out, err = process.communicate()
    failure = f"ended after {seconds:.0f} s; {err.decode()[-500:]}"
  lines = [x for x in out.decode().splitlines() if x.startswith("{")]
  found = {
    "samples": [json.loads(line) for line in lines],
    "seconds": time.monotonic() - began,
    "failure": failure,
  }
  for sample in found["samples"]:
    print(part, sample, flush=True)
  if failure:
    print(part, failure, file=sys.stderr, flush=True)
  return found


def summary(parts: dict, arguments: argparse.Namespace) -> list[dict]:
  """Tokens per second by batch, beside the floor's and the rival's."""
  best: dict[tuple[str, str, int], float] = {}
  for part, found in parts.items():
    for sample in found["samples"]:
      if "tokens" in sample and "batch" in sample:
        kind = sample.get("kind", part)
        key = kind, sample.get("attention", ""), sample["batch"]
        rate = max(sample["tokens"] / s for s in sample["seconds"])
        best[key] = max(best.get(key, 0.0), rate)
  copies = parts.get("bandwidth", {}).get("samples") or [{}]
  bandwidth = copies[0].get("bytes_per_s")
  rows = []
  for (kind, attention, batch), rate in sorted(best.items()):
    row = {"kind": kind, "attention": attention, "batch": batch}
    row["tokens_per_s"] = rate
    if bandwidth:
      floor = (
        batch
        * bandwidth
        / policies_parts.step_bytes(
          arguments.shape, batch, arguments.prompt, arguments.new
        )
      )
      row |= {"floor_tokens_per_s": floor, "share_of_floor": rate / floor}
    if rival := best.get(("transformers", "", batch)):
      row["times_transformers"] = rate / rival
    rows.append(row)
  return rows


_OURS = ("parts", "out", "seconds")


def main() -> None:
  """Writes the record."""
  parser = argparse.ArgumentParser(
    description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
  )
  parser.add_argument("--parts", default=",".join(PARTS[:-1]))
  parser.add_argument("--out", help="default: benchmarks/results/")
  parser.add_argument("--seconds", type=float, default=240, help="in all")
  policies_parts.add_arguments(parser)
  arguments = parser.parse_args()
  end = time.monotonic() + arguments.seconds
  out = arguments.out or (
    f"benchmarks/results/policies_decode_{arguments.shape}.json"
  )
  parts: dict[str, dict] = {}
  asked = {k: v for k, v in vars(arguments).items() if k not in _OURS}
  for part in arguments.parts.split(","):
    if part not in PARTS:
      parser.error(f"--parts: expected some of {','.join(PARTS)}, got {part}")
    parts[part] = measured(part, arguments, max(1.0, end - time.monotonic()))
    rows = summary(parts, arguments)
    # After each, so that nothing is lost if somebody ends this.
    record.write(
      out,
      {**record.environment(), **asked, "summary": rows, **parts},
    )
  for row in rows:
    print({k: round(v, 3) if type(v) is float else v for k, v in row.items()})


if __name__ == "__main__":
  main()
