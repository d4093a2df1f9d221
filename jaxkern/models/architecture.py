"""What a decoder looks like, read from a checkpoint's own config.json.

Families: Llama (SmolLM2 is one), Qwen2 and Qwen2.5, Qwen3, and SDAR, which is
Qwen3 denoising block by block. What a family can say and this decoder cannot do
is refused by name, so that no checkpoint is ever read as something else.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxkern.models import rope

# What a key must be where it is given; the decoder does nothing else.
_FIXED = {
  "hidden_act": ("silu",),
  "mlp_bias": (False,),
  "partial_rotary_factor": (1, None),
  "pretraining_tp": (1, None),
  "use_sliding_window": (False, None),
  "quantization_config": (None,),
}


class Architecture(NamedTuple):
  """The sizes and options of `Transformer`, and where they came from.

  Attributes:
    family: the config's model_type: llama, qwen2, qwen3 or sdar.
    vocab_size: rows of the embedding table; a tokenizer may use fewer.
    width, layers, heads, kv_heads, head_width, hidden: see `Transformer`.
    rope_base, rope_scaling: see `rope`.
    norm_epsilon: of every RMSNorm.
    qk_norm: whether each head's queries and keys are normalised before RoPE.
    qkv_bias: whether queries, keys and values have biases.
    tied: whether the logits reuse the embedding table.
    max_positions: for which the checkpoint was made.
  """

  family: str
  vocab_size: int
  width: int
  layers: int
  heads: int
  kv_heads: int
  head_width: int
  hidden: int
  rope_base: float
  rope_scaling: rope.Scaling | None
  norm_epsilon: float
  qk_norm: bool
  qkv_bias: bool
  tied: bool
  max_positions: int


class _Family(NamedTuple):
  name: str  # The class in transformers.
  qk_norm: bool
  qkv_bias: bool
  head_width: int | None  # Where a config has no head_dim.


FAMILIES = {
  "llama": _Family("LlamaForCausalLM", False, False, None),
  "qwen2": _Family("Qwen2ForCausalLM", False, True, None),
  "qwen3": _Family("Qwen3ForCausalLM", True, False, 128),
  "sdar": _Family("SDARForCausalLM", True, False, 128),
}


def from_config(
  config: Mapping[str, Any], where: str = "config.json"
) -> Architecture:
  """The architecture that a config.json describes.

  Args:
    config: the parsed file.
    where: the file's name, for messages.

  Raises:
    ValueError: an unknown family, an option that the decoder does not have, a
      missing key, or sizes that do not fit; names file, key, expected and got.
  """
  read = _Reader(config, where)
  family = read.one_of("model_type", tuple(FAMILIES))
  for key, allowed in _FIXED.items():
    if key in config:
      read.one_of(key, allowed)
  read.one_of("attention_bias", (False, family == "qwen2"), default=False)
  if any(kind != "full_attention" for kind in config.get("layer_types") or ()):
    raise read.error("layer_types", "full_attention in every layer")
  heads, kv_heads, head_width = _heads(read, family)
  base, scaling = _rope(read)
  return Architecture(
    family=family,
    vocab_size=read.size("vocab_size"),
    width=read.size("hidden_size"),
    layers=read.size("num_hidden_layers"),
    heads=heads,
    kv_heads=kv_heads,
    head_width=head_width,
    hidden=read.size("intermediate_size"),
    rope_base=base,
    rope_scaling=scaling,
    norm_epsilon=read.number("rms_norm_eps", 1e-6),
    qk_norm=FAMILIES[family].qk_norm,
    qkv_bias=FAMILIES[family].qkv_bias,
    tied=read.one_of("tie_word_embeddings", (False, True), default=False),
    max_positions=read.size("max_position_embeddings"),
  )


def of_sizes(
  *,
  vocab_size: int,
  width: int,
  layers: int,
  heads: int,
  kv_heads: int,
  hidden: int,
  rope_base: float,
  tied: bool,
) -> Architecture:
  """A Llama of one's own sizes, whose heads share its width.

  Raises:
    ValueError: sizes that do not fit each other.
  """
  if width % heads or heads % kv_heads or (width // heads) % 2:
    raise ValueError(
      "width, heads, kv_heads: expected an even width / heads and heads a "
      f"multiple of kv_heads, got {width}, {heads}, {kv_heads}"
    )
  return Architecture(
    family="llama",
    vocab_size=vocab_size,
    width=width,
    layers=layers,
    heads=heads,
    kv_heads=kv_heads,
    head_width=width // heads,
    hidden=hidden,
    rope_base=rope_base,
    rope_scaling=None,
    norm_epsilon=1e-6,
    qk_norm=False,
    qkv_bias=False,
    tied=tied,
    max_positions=32768,  # RoPE has no table; this is only for a config.json.
  )


def to_config(architecture: Architecture) -> dict[str, Any]:
  """A config.json that `from_config` and transformers read."""
  a = architecture
  config = {
    "architectures": [FAMILIES[a.family].name],
    "model_type": a.family,
    "vocab_size": a.vocab_size,
    "hidden_size": a.width,
    "num_hidden_layers": a.layers,
    "num_attention_heads": a.heads,
    "num_key_value_heads": a.kv_heads,
    "head_dim": a.head_width,
    "intermediate_size": a.hidden,
    "hidden_act": "silu",
    "rms_norm_eps": a.norm_epsilon,
    "rope_theta": a.rope_base,
    "tie_word_embeddings": a.tied,
    "max_position_embeddings": a.max_positions,
  }
  if a.rope_scaling is not None:
    config["rope_scaling"] = _SCALINGS[type(a.rope_scaling)](a.rope_scaling)
  return config


# As rope_scaling in config.json.
_SCALINGS = {
  rope.Linear: lambda s: {"rope_type": "linear", "factor": s.factor},
  rope.Llama3: lambda s: {
    "rope_type": "llama3",
    "factor": s.factor,
    "low_freq_factor": s.low,
    "high_freq_factor": s.high,
    "original_max_position_embeddings": s.original,
  },
  rope.Yarn: lambda s: {
    "rope_type": "yarn",
    "factor": s.factor,
    "beta_fast": s.fast,
    "beta_slow": s.slow,
    "original_max_position_embeddings": s.original,
    "attention_factor": s.magnitude,
    "truncate": s.truncate,
  },
}


def _heads(read: "_Reader", family: str) -> tuple[int, int, int]:
  """How many query heads and key heads, and their width."""
  heads, width = read.size("num_attention_heads"), read.size("hidden_size")
  # Absent or null, these follow from others.
  kv_heads, head_width = heads, FAMILIES[family].head_width
  if read.config.get("num_key_value_heads") is not None:
    kv_heads = read.size("num_key_value_heads")
  if read.config.get("head_dim") is not None:
    head_width = read.size("head_dim")
  elif head_width is None:
    if width % heads:
      raise read.error("hidden_size", f"a multiple of {heads} heads")
    head_width = width // heads
  if heads % kv_heads:
    raise read.error("num_key_value_heads", f"a divisor of {heads} heads")
  if head_width % 2:
    raise read.error("head_dim", "an even number", head_width)
  return heads, kv_heads, head_width


def _rope(read: "_Reader") -> tuple[float, rope.Scaling | None]:
  """RoPE's base and scaling, where any release of transformers puts them."""
  key = (
    "rope_parameters" if "rope_parameters" in read.config else "rope_scaling"
  )
  given = read.config.get(key) or {}
  if not isinstance(given, Mapping):
    raise read.error(key, "an object")
  inner = _Reader(given, read.where, f"{key}.")
  holds_base = inner if "rope_theta" in given else read
  base = holds_base.number("rope_theta", 1e4)
  inner.one_of("partial_rotary_factor", (1, None), default=None)
  kind = inner.one_of(
    "rope_type" if "rope_type" in given else "type",
    ("default", "linear", "llama3", "yarn"),
    default="default",
  )
  if kind == "default":
    return base, None
  factor = inner.number("factor")
  if factor < 1:
    raise inner.error("factor", "1 or more")
  if kind == "linear":
    return base, rope.Linear(factor)
  longest = read.size("max_position_embeddings")
  original = inner.number("original_max_position_embeddings", longest)
  if kind == "llama3":
    low = inner.number("low_freq_factor")
    high = inner.number("high_freq_factor")
    if low >= high:
      raise inner.error("low_freq_factor", f"less than high_freq_factor {high}")
    return base, rope.Llama3(factor, low, high, int(original))
  weight, all_weight = given.get("mscale"), given.get("mscale_all_dim")
  magnitude = rope.yarn_magnitude(factor)
  if weight and all_weight:
    magnitude = rope.yarn_magnitude(factor, weight)
    magnitude /= rope.yarn_magnitude(factor, all_weight)
  return base, rope.Yarn(
    factor,
    fast=inner.number("beta_fast", 32.0),
    slow=inner.number("beta_slow", 1.0),
    original=int(original),
    magnitude=inner.number("attention_factor", magnitude),
    truncate=inner.one_of("truncate", (True, False), default=True),
  )


class _Reader(NamedTuple):
  """Values of a config, or one clear line."""

  config: Mapping[str, Any]
  where: str
  prefix: str = ""

  def error(self, key: str, expected: str, got: Any = None) -> ValueError:
    """The line that says what is wrong with a key."""
    got = self.config.get(key) if got is None else got
    said = f"expected {expected}, got {got!r}"
    return ValueError(f"{self.where}: {self.prefix}{key}: {said}")

  def one_of(self, key: str, allowed: tuple, default: Any = ...) -> Any:
    """The value, which must be allowed; a default makes the key optional."""
    value = self.config.get(key, default)
    if value is ... or value not in allowed:
      names = [str(a) for a in dict.fromkeys(allowed)]
      raise self.error(key, " or ".join(names))
    return value

  def size(self, key: str) -> int:
    """A positive integer."""
    value = self.config.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
      raise self.error(key, "a positive integer")
    return value

  def number(self, key: str, default: float | None = None) -> float:
    """A positive number; where it is absent or null, the default if any."""
    value = self.config.get(key)
    value = default if value is None else value
    if not isinstance(value, int | float) or not value > 0:
      raise self.error(key, "a positive number")
    return float(value)
