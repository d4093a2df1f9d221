"""The suite: operations that people write kernels for, a family a file."""

from jaxkern.tasks.define import define
from jaxkern.tasks.task import Task

FLAT = {"n": (1, 257, 4099, 1000, 1 << 24)}
IMAGE = {
  "batch": (1, 1, 2, 2, 16),
  "channels": (1, 3, 4, 2, 64),
  "h": (3, 9, 13, 8, 56),
  "w": (4, 7, 14, 9, 56),
}
ROWS = {"rows": (1, 7, 61, 33, 8192), "cols": (1, 33, 130, 67, 4096)}


def variants(
  family: str, level: int, name: str, dtypes: str, *text: str, **more
) -> list[Task]:
  """The task in each of the dtypes: `define`, whose text is the signature, the
  reference, the naive kernel's threads and its body."""
  signature, reference, threads, kernel = text
  return [
    define(
      f"{name}_{dtype}",
      signature,
      reference,
      threads=threads,
      kernel=kernel,
      dtype=dtype,
      level=level,
      family=family,
      **more,
    )
    for dtype in dtypes.split()
  ]
