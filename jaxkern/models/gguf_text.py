"""The byte-level BPE and the chat template in a GGUF file's metadata.

llama.cpp stores a tokenizer's tokens and merges, and of how it cuts text into
words only a name: what the name stands for is known here.
"""

from collections.abc import Callable
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers

from jaxkern.models import text as texts
from jaxkern.models.text import Text

_CONTROL, _USER_DEFINED = 3, 4  # Kinds of tokens that no merge makes.

_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_OTHERS = r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _gpt2() -> list:
  return [pre_tokenizers.ByteLevel(add_prefix_space=False)]


def _digits() -> list:
  """SmolLM's: GPT-2's words, and every digit by itself."""
  return [pre_tokenizers.Digits(individual_digits=True), *_gpt2()]


def _cut(digits: str) -> list:
  """Llama 3's and Qwen's, which differ in how many digits make a word."""
  pattern = f"{_CONTRACTIONS}|{_WORDS}|{digits}|{_OTHERS}"
  return [
    pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
  ]


_CUTS = {
  "default": _gpt2,
  "gpt-2": _gpt2,
  "smollm": _digits,
  "llama-bpe": lambda: _cut(r"\p{N}{1,3}"),
  "qwen2": lambda: _cut(r"\p{N}"),
}


def text(get: Callable[[str], Any], where: str) -> Text | None:
  """The text of a file; None if it has no tokenizer.

  Args:
    get: key of the metadata -> value or None.
    where: the file, for messages.

  Raises:
    ValueError: the tokenizer is not a byte-level BPE that is known here.
  """

  def one_of(key: str, allowed: tuple[str, ...], default: Any = None) -> str:
    """The value of a key that must be among some."""
    value = get(key) or default
    if value not in allowed:
      expected = " or ".join(allowed)
      raise ValueError(f"{where}: {key}: expected {expected}, got {value}")
    return value

  tokens = get("tokenizer.ggml.tokens")
  if tokens is None:
    return None
  one_of("tokenizer.ggml.model", ("gpt2",))
  cut = one_of("tokenizer.ggml.pre", tuple(_CUTS), "default")
  merges = get("tokenizer.ggml.merges")
  if not merges:
    key = "tokenizer.ggml.merges"
    raise ValueError(f"{where}: {key}: expected merges, got none")
  try:
    model = _model(tokens, merges, cut)
  # The library raises plain Exception for merges it cannot use.
  except Exception as error:
    raise ValueError(
      f"{where}: tokenizer.ggml.merges: expected merges of its tokens: {error}"
    ) from error
  _add(model, tokens, get("tokenizer.ggml.token_type") or [])
  ids = {
    f"{name}_token": get(f"tokenizer.ggml.{key}_token_id")
    for name, key in (("bos", "bos"), ("eos", "eos"), ("pad", "padding"))
  }
  ends = [ids["eos_token"], get("tokenizer.ggml.eot_token_id")]
  for name, i in ids.items():
    if i is not None and i >= len(tokens):
      raise ValueError(
        f"{where}: {name}: expected an id below {len(tokens)}, got {i}"
      )
  return texts.make(
    model,
    ends,
    get("tokenizer.chat_template"),
    {name: tokens[i] for name, i in ids.items() if i is not None},
    where,
  )


def _model(
  tokens: list[str], merges: list[str], cut: str
) -> tokenizers.Tokenizer:
  model = tokenizers.Tokenizer(
    models.BPE(
      {token: i for i, token in enumerate(tokens)},
      [tuple(merge.split(" ")) for merge in merges],
      # Llama 3's vocabulary holds words that its merges do not reach.
      ignore_merges=cut == "llama-bpe",
    )
  )
  if cut == "qwen2":
    model.normalizer = normalizers.NFC()
  model.pre_tokenizer = pre_tokenizers.Sequence(_CUTS[cut]())
  model.decoder = decoders.ByteLevel()
  return model


def _add(
  model: tokenizers.Tokenizer, tokens: list[str], kinds: list[int]
) -> None:
  """Marks the tokens that are recognised before text is cut."""
  for kind, special in ((_CONTROL, True), (_USER_DEFINED, False)):
    named = [t for t, k in zip(tokens, kinds, strict=False) if k == kind]
    added = [tokenizers.AddedToken(t, normalized=False) for t in named]
    (model.add_special_tokens if special else model.add_tokens)(added)
