"""Near-duplicates: kernels for one task that differ in some names or numbers.

MinHash (datasketch) finds pairs that may be alike; their exact Jaccard index
decides, so that the result depends on no hash.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import datasketch

from jaxkern.data import cuda_text

_SHINGLE = 5
_NUMBER = re.compile(r"(?<![\w.])\d+(?![\w.])")
_PERMUTATIONS = 128


class Kernel(NamedTuple):
  """What is compared: `group` is what the kernel is for."""

  key: str
  group: str
  text: str


def jaccard(a: str, b: str) -> float:
  """Shared runs of five words over all of them; 1 for equal texts.

  Whole numbers are all alike: another block size is no other kernel.
  """
  left, right = _runs(a), _runs(b)
  return len(left & right) / max(len(left | right), 1)


def _runs(text: str) -> set[tuple[str, ...]]:
  return cuda_text.grams(_NUMBER.sub("0", text), _SHINGLE)


def find(kernels: Sequence[Kernel], threshold: float) -> dict[str, str]:
  """Duplicates by key, each with the key of the earlier kernel it repeats.

  The order decides who stays: put the best first. Kernels of different groups
  are never duplicates: the same loop for another task is another lesson.

  Raises:
    ValueError: the threshold is no Jaccard index.
  """
  if not 0 < threshold <= 1:
    raise ValueError(f"duplicates: expected 0 < index <= 1, got {threshold}")
  # LSH cannot be tuned for an index of 1; equal texts are found at any.
  index = datasketch.MinHashLSH(
    threshold=min(threshold, 0.95), num_perm=_PERMUTATIONS
  )
  texts: dict[str, Kernel] = {}
  found: dict[str, str] = {}
  for kernel in kernels:
    sketch = _sketch(kernel)
    alike = [texts[key] for key in index.query(sketch)]
    twin = next(
      (
        other.key
        for other in sorted(alike)
        if other.group == kernel.group
        and jaccard(other.text, kernel.text) >= threshold
      ),
      None,
    )
    if twin is not None:
      found[kernel.key] = twin
    elif kernel.key not in texts:
      texts[kernel.key] = kernel
      index.insert(kernel.key, sketch)
  return found


def _sketch(kernel: Kernel) -> datasketch.MinHash:
  """Of the kernel's runs, the group in each: others are never alike."""
  sketch = datasketch.MinHash(_PERMUTATIONS)
  sketch.update_batch(_bytes(kernel))
  return sketch


def _bytes(kernel: Kernel) -> Iterable[bytes]:
  head = kernel.group + "\n"
  return [(head + " ".join(gram)).encode() for gram in _runs(kernel.text)]
