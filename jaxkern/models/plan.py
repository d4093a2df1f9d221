"""What a decoder takes: parameters, operations.

Fixed letters: B rows, L tokens of a row.
"""

import math

from jaxkern.models import tensors
from jaxkern.models.architecture import Architecture


def parameters(architecture: Architecture) -> int:
  """How many numbers its parameters are."""
  return sum(math.prod(t.shape) for t in tensors.tensors(architecture))


def training_operations(
  architecture: Architecture, rows: int, length: int
) -> int:
  """Multiplications and additions of an update's matrix products.

  As model FLOP utilisation counts them (PaLM): the backward pass twice the
  forward one, whatever is computed again; attention only where it is causal.

  Args:
    architecture: of the decoder.
    rows: B.
    length: L; every token's logits are counted, prompts too.
  """
  a = architecture
  matrices = sum(
    math.prod(t.shape)
    for t in tensors.tensors(a)
    if t.transposed or (a.tied and t.path[0] == "embed")
  )
  # Scores and their mean of values, of a token that sees half of the others.
  attention = 2 * a.layers * a.heads * a.head_width * (length + 1) // 2
  return 3 * 2 * rows * length * (matrices + attention)
