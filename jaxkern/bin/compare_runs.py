"""Compares runs: accuracy by turn against wall clock, and time to accuracy.

python -m jaxkern.bin.compare_runs runs/leap-0 runs/leap-1 runs/dense-0 ...

Directories of one name but for `-SEED` at the end are one method; times are
compared with the first one's. docs/leap.md says what is counted.
"""

import sys

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.training import comparison, comparison_page

_PAGE = flags.DEFINE_string("page", "comparison.html", "Where the page goes.")


def main(argv) -> None:
  """Prints the table and writes the page."""
  if len(argv) < 2:
    raise ValueError("runs: expected directories of runs, got none")
  runs = comparison.methods(argv[1:])
  print(comparison_page.table(runs))
  print(f"page: {comparison_page.write(runs, _PAGE.value)}", file=sys.stderr)


if __name__ == "__main__":
  jaxkern_bin.run(main, positional=True)
