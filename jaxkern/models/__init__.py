"""Policies: pure functions that write tokens and score them."""

from collections.abc import Mapping, Sequence
from typing import Any

from jaxkern.models import autoregressive, block_diffusion, checkpoints
from jaxkern.models.policy import Policy

# SDAR's token for what is not known, where no config says which.
_MASK = "<|MASK|>"


def make(
  config: Mapping[str, Any],
  *,
  vocab_size: int,
  end_id: int | Sequence[int],
  pad_id: int,
) -> Policy:
  """The policy a config describes; configs go no deeper than this.

  Args:
    config: the remaining arguments of `autoregressive` by name, dtype as its
      name, e.g. a ConfigDict of width, layers, heads, kv_heads, hidden,
      max_new_tokens. With block_size those of `block_diffusion`. With
      `checkpoint`, a directory or file that `checkpoints.load` reads, those of
      their `from_architecture` instead; `init` then reads the parameters
      there, in param_dtype (float32 unless given). A checkpoint of SDAR is a
      block-diffusion policy, whose mask_id is that of the token <|MASK|>.
    vocab_size: entries of the tokenizer.
    end_id: the token that ends a completion, or several that do.
    pad_id: the token that fills rows.

  Raises:
    ValueError: sizes that do not fit each other, or the checkpoint cannot be
      used.
  """
  if config.get("checkpoint"):
    return _of_checkpoint(
      **config, vocab_size=vocab_size, end_id=end_id, pad_id=pad_id
    )
  config = {k: v for k, v in config.items() if k != "checkpoint"}
  kind = autoregressive.autoregressive
  if "block_size" in config:
    kind = block_diffusion.block_diffusion
  return kind(**config, vocab_size=vocab_size, end_id=end_id, pad_id=pad_id)


def _of_checkpoint(
  *, checkpoint: str, vocab_size: int, param_dtype: str = "float32", **options
) -> Policy:
  architecture, text = checkpoints.describe(checkpoint)
  if vocab_size > architecture.vocab_size:
    raise ValueError(
      f"{checkpoint}: expected a tokenizer of at most "
      f"{architecture.vocab_size} entries, got one of {vocab_size}"
    )
  kind = autoregressive
  if architecture.family == "sdar":
    kind = block_diffusion
    if "mask_id" not in options:
      options["mask_id"] = _mask_id(checkpoint, text)
  policy = kind.from_architecture(architecture, **options)
  return policy._replace(
    # No randomness is left to be drawn.
    init=lambda key: checkpoints.load(checkpoint, param_dtype).params
  )


def _mask_id(checkpoint, text):
  found = None if text is None else text.tokenizer.id_of(_MASK)
  if found is None:
    raise ValueError(
      f"{checkpoint}: mask_id: expected a token {_MASK} in its tokenizer or "
      "mask_id in the config, got neither"
    )
  return found
