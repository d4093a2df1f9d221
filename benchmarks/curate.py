"""A curation, recorded: the funnel, and every verdict with its raw times.

  python benchmarks/curate.py --config=cpu --workdir=runs/cuke --out=FILE

A work directory that is there is continued.
"""

import argparse
import importlib.util
import json
import pathlib
import time

import jax
import record

from jaxkern.training import cuke

CONFIGS = pathlib.Path(__file__).parents[1] / "configs"

_KEPT = (
  "task",
  "stage",
  "status",
  "rule",
  "speedup",
  "speedup_low",
  "speedup_high",
  "baseline_us",
  "times_us",
)


def _config(variant: str):
  """What `--config=configs/curate.py:VARIANT` is."""
  spec = importlib.util.spec_from_file_location("c", CONFIGS / "curate.py")
  module = importlib.util.module_from_spec(spec)
  spec.loader.exec_module(module)
  return module.get_config(variant)


def main():
  """Curates and writes the record."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--config", default="cpu", help="variant of the config")
  flags.add_argument("--workdir", required=True)
  flags.add_argument("--limit_s", type=float, default=0.0)
  flags.add_argument("--out", required=True)
  flags = flags.parse_args()
  jax.config.update("jax_platforms", "cpu")
  environment, began = record.environment(), time.monotonic()
  config = _config(flags.config)
  config.limit_s = flags.limit_s
  summary = cuke.run(config, flags.workdir)
  print(cuke.table(summary))
  lines = pathlib.Path(flags.workdir, "verdicts.jsonl").read_text().splitlines()
  verdicts = [json.loads(line) for line in lines]
  devices = sorted({v["device"] for v in verdicts if v["device"]})
  record.write(
    flags.out,
    {
      "environment": environment,
      "seconds": time.monotonic() - began,
      "devices": devices,
      "summary": summary,
      "verdicts": [{k: v[k] for k in _KEPT} for v in verdicts],
    },
  )


if __name__ == "__main__":
  main()
