"""Policies: pure functions that write tokens and score them."""

from collections.abc import Mapping
from typing import Any

from jaxkern.models import autoregressive, checkpoints
from jaxkern.models.policy import Policy


def make(
  config: Mapping[str, Any], *, vocab_size: int, end_id: int, pad_id: int
) -> Policy:
  """The policy a config describes; configs go no deeper than this.

  Args:
    config: the remaining arguments of `autoregressive` by name, dtype as its
      name, e.g. a ConfigDict of width, layers, heads, kv_heads, hidden,
      max_new_tokens. With `checkpoint`, a directory or file that
      `checkpoints.load` reads, the remaining arguments of
      `autoregressive.from_architecture` instead; `init` then reads the
      parameters there, in param_dtype (float32 unless given).
    vocab_size: entries of the tokenizer.
    end_id: the token that ends a completion.
    pad_id: the token that fills rows.

  Raises:
    ValueError: sizes that do not fit each other, or the checkpoint cannot be
      used.
  """
  if config.get("checkpoint"):
    return _of_checkpoint(
      **config, vocab_size=vocab_size, end_id=end_id, pad_id=pad_id
    )
  return autoregressive.autoregressive(
    **config, vocab_size=vocab_size, end_id=end_id, pad_id=pad_id
  )


def _of_checkpoint(
  *, checkpoint: str, vocab_size: int, param_dtype: str = "float32", **options
) -> Policy:
  architecture, _ = checkpoints.describe(checkpoint)
  if vocab_size > architecture.vocab_size:
    raise ValueError(
      f"{checkpoint}: expected a tokenizer of at most "
      f"{architecture.vocab_size} entries, got one of {vocab_size}"
    )
  policy = autoregressive.from_architecture(architecture, **options)
  return policy._replace(
    # No randomness is left to be drawn.
    init=lambda key: checkpoints.load(checkpoint, param_dtype).params
  )
