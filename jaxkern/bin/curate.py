"""Curates kernels of any origin into a verified, timed, published data set.

python -m jaxkern.bin.curate --config=configs/curate.py:cpu --workdir=runs/cuke
python -m jaxkern.bin.curate --config=configs/curate.py:cpu-files \
  --workdir=runs/mine --source=kernels.jsonl --source=more.parquet \
  --source=folder_of_cu --source=runs/evaluation

The same command continues what was interrupted. docs/cuke.md has the stages.
"""

import jax
from absl import flags
from ml_collections import config_flags

from jaxkern import bin as jaxkern_bin
from jaxkern.training import cuke

_CONFIG = config_flags.DEFINE_config_file(
  "config", None, "A file of configs/, with its variant.", lock_config=True
)
_WORKDIR = flags.DEFINE_string("workdir", None, "Verdicts and the data set.")
_SOURCES = flags.DEFINE_multi_string(
  "source", [], "A .jsonl or .parquet file, a folder of .cu files, a run."
)


def main(_) -> None:
  """Checks the flags and curates; prints the funnel."""
  if _CONFIG.value is None:
    raise ValueError("--config: expected a config, e.g. configs/curate.py:cpu")
  if _WORKDIR.value is None:
    raise ValueError("--workdir: expected a directory, e.g. runs/cuke")
  # References are computed on the host: the GPU is for what is timed.
  jax.config.update("jax_platforms", "cpu")
  summary = cuke.run(_CONFIG.value, _WORKDIR.value, _SOURCES.value)
  print(f"{cuke.table(summary)}\n{_WORKDIR.value}/README.md")


if __name__ == "__main__":
  jaxkern_bin.run(main)
