"""Runs a config from corpus to report; continues what was interrupted.

python -m jaxkern.bin.train --config=configs/leap.py:demo --workdir=runs/demo
"""

from absl import flags
from ml_collections import config_flags

from jaxkern import bin as jaxkern_bin
from jaxkern.training import run

_CONFIG = config_flags.DEFINE_config_file(
  "config", None, "A file of configs/, with its variant.", lock_config=True
)
_WORKDIR = flags.DEFINE_string("workdir", None, "Where the run lives.")


def main(_) -> None:
  """Checks the flags and runs."""
  if _CONFIG.value is None:
    raise ValueError("--config: expected a config, e.g. configs/leap.py:demo")
  if _WORKDIR.value is None:
    raise ValueError("--workdir: expected a directory, e.g. runs/demo")
  name = config_flags.get_config_filename(flags.FLAGS["config"])
  run.run(_CONFIG.value, _WORKDIR.value, name)


if __name__ == "__main__":
  jaxkern_bin.run(main)
