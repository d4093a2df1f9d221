"""Renders a run's report.html anew, also while it is running.

python -m jaxkern.bin.report --workdir=runs/demo
"""

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.training import report

_WORKDIR = flags.DEFINE_string("workdir", None, "A run's directory.")


def main(_) -> None:
  """Renders and prints the path."""
  if _WORKDIR.value is None:
    raise ValueError("--workdir: expected a run's directory, got none")
  print(report.render(_WORKDIR.value))


if __name__ == "__main__":
  jaxkern_bin.run(main)
