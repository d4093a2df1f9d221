"""GGUF files, llama.cpp's: metadata, tokenizer, quantised tensors.

Read with PyPI's `gguf`; dequantised on the host, a tensor at a time.
"""

import pathlib
from collections.abc import Sequence
from typing import Any

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Kind

from jaxkern.models import architecture as architectures
from jaxkern.models import gguf_text, rope, tensors
from jaxkern.models.architecture import Architecture
from jaxkern.models.text import Text

_FAMILIES = ("llama", "qwen2", "qwen3")
_KINDS = (
  Kind.F32,
  Kind.F16,
  Kind.BF16,
  Kind.Q8_0,
  Kind.Q4_0,
  Kind.Q4_1,
  Kind.Q4_K,
  Kind.Q6_K,
)
# config.json's keys: the metadata's, and whether a file must have them.
_KEYS = {
  "hidden_size": ("embedding_length", True),
  "num_hidden_layers": ("block_count", True),
  "num_attention_heads": ("attention.head_count", True),
  "num_key_value_heads": ("attention.head_count_kv", False),
  "head_dim": ("attention.key_length", False),
  "intermediate_size": ("feed_forward_length", True),
  "max_position_embeddings": ("context_length", True),
  "rms_norm_eps": ("attention.layer_norm_rms_epsilon", True),
  "rope_theta": ("rope.freq_base", False),
}
_ROPE_DIVISORS = "rope_freqs.weight"
# Llama 3.1 and later stretch by 8 or 32 and have the rest in common.
_LLAMA3 = {"low": 1.0, "high": 4.0, "original": 8192}
_PIECE = 16 << 20  # Elements that are dequantised at once.


class File:
  """An opened GGUF file."""

  def __init__(self, path: pathlib.Path) -> None:
    """Reads the metadata.

    Raises:
      ValueError: the file is no GGUF file, is cut off, or its model is not one
        of ours.
    """
    self._path = path
    self._reader = _open(path)
    self._family = self._get("general.architecture")
    if self._family not in _FAMILIES:
      expected = " or ".join(_FAMILIES)
      raise self._error("general.architecture", expected, self._family)
    self._tensors = {tensor.name: tensor for tensor in self._reader.tensors}

  def architecture(self) -> Architecture:
    """What the metadata describes.

    Raises:
      ValueError: see `architecture.from_config`.
    """
    config: dict[str, Any] = {"model_type": self._family}
    for key, (name, needed) in _KEYS.items():
      value = self._get(f"{self._family}.{name}")
      if value is None and needed:
        raise self._error(f"{self._family}.{name}", "a value")
      if value is not None:
        config[key] = value
    embedding = self._tensors.get("token_embd.weight")
    if embedding is None:
      raise self._error("token_embd.weight", "a tensor")
    config["vocab_size"] = int(embedding.shape[-1])
    config["tie_word_embeddings"] = "output.weight" not in self._tensors
    for name in ("expert_count", "attention.sliding_window"):
      value = self._get(f"{self._family}.{name}")
      if value:
        raise self._error(f"{self._family}.{name}", "none", value)
    config["rope_scaling"] = self._scaling()
    found = architectures.from_config(config, str(self._path))
    turned = self._get(f"{self._family}.rope.dimension_count")
    if turned not in (None, found.head_width):
      name = f"{self._family}.rope.dimension_count"
      raise self._error(name, str(found.head_width), turned)
    if _ROPE_DIVISORS in self._tensors:
      return found._replace(rope_scaling=self._llama3(found))
    return found

  def text(self) -> Text | None:
    """The tokenizer and the chat template; None if there is no tokenizer.

    Raises:
      ValueError: the tokenizer is not a byte-level BPE that is known here.
    """
    return gguf_text.text(self._get, str(self._path))

  def source(self) -> tensors.Source:
    """The tensors.

    Raises:
      ValueError: one is of a kind that is not read here.
    """
    for tensor in self._tensors.values():
      if tensor.tensor_type not in _KINDS:
        kinds = " or ".join(kind.name for kind in _KINDS)
        raise self._error(tensor.name, kinds, tensor.tensor_type.name)
    return tensors.Source(
      name=lambda tensor: tensor.gguf,
      shapes={
        # Innermost first there.
        name: tuple(int(size) for size in reversed(tensor.shape))
        for name, tensor in self._tensors.items()
      },
      where=lambda name: str(self._path),
      read=self._read,
      ignored=lambda name: name == _ROPE_DIVISORS,
    )

  def _read(self, tensor: tensors.Tensor) -> np.ndarray:
    array = _dequantised(self._tensors[tensor.gguf], tensor.shape)
    if self._family == "llama" and tensor.path[1:] in (
      ("q", "kernel"),
      ("k", "kernel"),
    ):
      names = {"q": "head_count", "k": "head_count_kv"}
      heads = self._get(f"llama.attention.{names[tensor.path[1]]}")
      heads = heads or self._get("llama.attention.head_count")
      return halves(array, heads)
    return array

  def _scaling(self) -> dict[str, Any] | None:
    """The metadata's RoPE scaling as config.json has it."""
    prefix = f"{self._family}.rope.scaling."
    kind = self._get(f"{prefix}type")
    if kind in (None, "none"):
      return None
    factor = self._get(f"{prefix}factor")
    if kind == "linear":
      return {"rope_type": kind, "factor": factor}
    if kind != "yarn":
      raise self._error(f"{prefix}type", "none or linear or yarn", kind)
    scaling = {
      "rope_type": kind,
      "factor": factor,
      "original_max_position_embeddings": self._get(
        f"{prefix}original_context_length"
      ),
      "beta_fast": self._get(f"{prefix}yarn_beta_fast"),
      "beta_slow": self._get(f"{prefix}yarn_beta_slow"),
    }
    weight = self._get(f"{prefix}yarn_attn_factor")
    if weight is not None and factor is not None:
      scaling["attention_factor"] = weight * rope.yarn_magnitude(factor)
    return scaling

  def _llama3(self, found: Architecture) -> rope.Llama3:
    """The scaling that a tensor of divisors stands for."""
    divisors = np.asarray(self._tensors[_ROPE_DIVISORS].data)
    half = found.head_width // 2
    plain = found.rope_base ** (-np.arange(half) / half)
    scaling = rope.Llama3(float(divisors.max()), **_LLAMA3)
    expected = rope.llama3_divisors(plain, scaling)
    if divisors.shape != expected.shape or not np.allclose(
      divisors, expected, rtol=1e-4
    ):
      raise self._error(
        _ROPE_DIVISORS, "Llama 3's divisors", f"others up to {divisors.max()}"
      )
    return scaling

  def _get(self, key: str) -> Any:
    field = self._reader.get_field(key)
    return None if field is None else field.contents()

  def _error(self, name: str, expected: str, got: Any = "none") -> ValueError:
    return ValueError(f"{self._path}: {name}: expected {expected}, got {got}")


def halves(array: np.ndarray, heads: int) -> np.ndarray:
  """Rows of queries or keys in our order; llama.cpp's turns neighbours.

  Args:
    array: [heads * D, W], the rows of a head ordered 0, D/2, 1, D/2 + 1, ...
    heads: how many.

  Returns:
    Like array, the rows of a head ordered 0, 1, 2, ...
  """
  split = array.reshape(heads, -1, 2, array.shape[-1])
  return split.swapaxes(1, 2).reshape(array.shape)


def _dequantised(tensor: gguf.ReaderTensor, shape: Sequence[int]) -> np.ndarray:
  """Float32, in pieces, whose intermediate results are several times larger."""
  out = np.empty(shape, np.float32)
  rows = max(1, _PIECE // shape[-1]) if len(shape) > 1 else shape[0]
  for start in range(0, shape[0], rows):
    piece = tensor.data[start : start + rows]
    out[start : start + rows] = gguf.dequantize(piece, tensor.tensor_type)
  return out


def _open(path: pathlib.Path) -> gguf.GGUFReader:
  try:
    return _Reader(path)
  # The library's own for what it cannot parse, numpy's for what is too short.
  except (ValueError, IndexError, KeyError, OverflowError) as error:
    raise ValueError(f"{path}: expected a GGUF file: {error}") from error


class _Reader(gguf.GGUFReader):
  """Says where a file that is cut off ends, and in which tensor."""

  def _get(self, offset: int, dtype: Any, count: int = 1, **order: Any) -> Any:
    end = int(offset) + np.dtype(dtype).itemsize * int(count)
    if end > len(self.data):
      raise ValueError(f"expected at least {end} bytes, got {len(self.data)}")
    return super()._get(offset, dtype, count, **order)

  def _build_tensors(self, start: int, fields: Sequence[Any]) -> None:
    tensors = []
    for field in fields:
      try:
        super()._build_tensors(start, [field])
      except ValueError as error:
        raise ValueError(f"{field.name}: {error}") from error
      tensors += self.tensors
    self.tensors = tensors
