"""Policies: pure functions that write tokens and score them."""

from collections.abc import Mapping
from typing import Any

from jaxkern.models import autoregressive
from jaxkern.models.policy import Policy


def make(
  config: Mapping[str, Any], *, vocab_size: int, end_id: int, pad_id: int
) -> Policy:
  """The policy a config describes; configs go no deeper than this.

  Args:
    config: the remaining arguments of `autoregressive` by name, dtype as its
      name, e.g. a ConfigDict of width, layers, heads, kv_heads, hidden,
      max_new_tokens.
    vocab_size: entries of the tokenizer.
    end_id: the token that ends a completion.
    pad_id: the token that fills rows.

  Raises:
    ValueError: sizes that do not fit each other.
  """
  return autoregressive.autoregressive(
    **config, vocab_size=vocab_size, end_id=end_id, pad_id=pad_id
  )
