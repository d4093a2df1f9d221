"""Which tensors a decoder has, and what checkpoints call them.

One table serves every family and both formats, in and out. Files hold a
product's matrix as [outputs, inputs]; ours is the transpose.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxkern.models.architecture import Architecture

# Where a tensor lies in our parameters: its name in a Hugging Face file, in a
# GGUF file.
_WHOLE = {
  "embed/embedding": ("model.embed_tokens.weight", "token_embd.weight"),
  "norm/scale": ("model.norm.weight", "output_norm.weight"),
  "unembed/kernel": ("lm_head.weight", "output.weight"),
}
_BLOCK = {
  "attention_norm/scale": ("input_layernorm.weight", "attn_norm.weight"),
  "q/kernel": ("self_attn.q_proj.weight", "attn_q.weight"),
  "k/kernel": ("self_attn.k_proj.weight", "attn_k.weight"),
  "v/kernel": ("self_attn.v_proj.weight", "attn_v.weight"),
  "q/bias": ("self_attn.q_proj.bias", "attn_q.bias"),
  "k/bias": ("self_attn.k_proj.bias", "attn_k.bias"),
  "v/bias": ("self_attn.v_proj.bias", "attn_v.bias"),
  "q_norm/scale": ("self_attn.q_norm.weight", "attn_q_norm.weight"),
  "k_norm/scale": ("self_attn.k_norm.weight", "attn_k_norm.weight"),
  "o/kernel": ("self_attn.o_proj.weight", "attn_output.weight"),
  "mlp_norm/scale": ("post_attention_layernorm.weight", "ffn_norm.weight"),
  "gate/kernel": ("mlp.gate_proj.weight", "ffn_gate.weight"),
  "up/kernel": ("mlp.up_proj.weight", "ffn_up.weight"),
  "down/kernel": ("mlp.down_proj.weight", "ffn_down.weight"),
}


class Tensor(NamedTuple):
  """One tensor of a checkpoint.

  Attributes:
    path: in our parameters, e.g. ("blocks_0", "q", "kernel").
    huggingface, gguf: its names in files.
    shape: in files.
  """

  path: tuple[str, ...]
  huggingface: str
  gguf: str
  shape: tuple[int, ...]

  @property
  def transposed(self) -> bool:
    """Whether ours is the transpose of what files hold."""
    return self.path[-1] == "kernel"


class Source(NamedTuple):
  """A checkpoint's tensors, read one at a time.

  Attributes:
    name: Tensor -> its name there.
    shapes: by name, of all tensors there.
    where: name -> the file it lies in, for messages.
    read: Tensor -> array, in the shape of files.
    ignored: whether a tensor that the architecture does not know may be there.
  """

  name: Callable[[Tensor], str]
  shapes: Mapping[str, tuple[int, ...]]
  where: Callable[[str], str]
  read: Callable[[Tensor], np.ndarray]
  ignored: Callable[[str], bool]


def tensors(architecture: Architecture) -> Iterator[Tensor]:
  """All that a decoder of this architecture consists of, block by block."""
  a = architecture
  queries, keys = a.heads * a.head_width, a.kv_heads * a.head_width
  shapes = {
    "embed/embedding": (a.vocab_size, a.width),
    "norm/scale": (a.width,),
    "unembed/kernel": (a.vocab_size, a.width),
    "attention_norm/scale": (a.width,),
    "q/kernel": (queries, a.width),
    "k/kernel": (keys, a.width),
    "v/kernel": (keys, a.width),
    "q/bias": (queries,),
    "k/bias": (keys,),
    "v/bias": (keys,),
    "q_norm/scale": (a.head_width,),
    "k_norm/scale": (a.head_width,),
    "o/kernel": (a.width, queries),
    "mlp_norm/scale": (a.width,),
    "gate/kernel": (a.hidden, a.width),
    "up/kernel": (a.hidden, a.width),
    "down/kernel": (a.width, a.hidden),
  }
  absent = set()
  absent |= {"unembed/kernel"} if a.tied else set()
  absent |= set() if a.qkv_bias else {"q/bias", "k/bias", "v/bias"}
  absent |= set() if a.qk_norm else {"q_norm/scale", "k_norm/scale"}
  parts = [("", "", "", _WHOLE)]
  for i in range(a.layers):
    parts.append((f"blocks_{i}/", f"model.layers.{i}.", f"blk.{i}.", _BLOCK))
  for ours, theirs, ggufs, table in parts:
    for path, (name, gguf_name) in table.items():
      if path not in absent:
        yield Tensor(
          tuple((ours + path).split("/")),
          theirs + name,
          ggufs + gguf_name,
          shapes[path],
        )


def check(architecture: Architecture, source: Source) -> None:
  """Whether a source holds the architecture's tensors and no others.

  Raises:
    ValueError: a tensor is missing, unknown or of another shape.
  """
  unknown = set(source.shapes)
  for tensor in tensors(architecture):
    name = source.name(tensor)
    where = source.where(name)
    if name not in source.shapes:
      raise ValueError(f"{where}: {name}: expected {tensor.shape}, got nothing")
    shape = tuple(source.shapes[name])
    if shape != tensor.shape:
      raise ValueError(f"{where}: {name}: expected {tensor.shape}, got {shape}")
    unknown.discard(name)
  for name in sorted(unknown):
    if not source.ignored(name):
      raise ValueError(
        f"{source.where(name)}: {name}: expected no such tensor in a "
        f"{architecture.family} model, got {tuple(source.shapes[name])}"
      )


def load(architecture: Architecture, source: Source, dtype: Any) -> Any:
  """Parameters of `Transformer` on the default device, in dtype.

  One tensor at a time is in host memory besides what the device keeps there.
  """
  inner: dict[str, Any] = {}
  for tensor in tensors(architecture):
    place = inner
    for key in tensor.path[:-1]:
      place = place.setdefault(key, {})
    placed = jax.device_put(source.read(tensor))
    # Ready before the next is read, or host copies of several would pile up.
    place[tensor.path[-1]] = jax.block_until_ready(
      _finish(placed, tensor.transposed, jnp.dtype(dtype))
    )
  return {"params": inner}


def get(params: Any, tensor: Tensor) -> jax.Array:
  """A tensor of our parameters as files hold it, on its device."""
  array = params["params"]
  for key in tensor.path:
    array = array[key]
  return array.T if tensor.transposed else array


def _finish(array: jax.Array, transposed: bool, dtype: Any) -> jax.Array:
  return (array.T if transposed else array).astype(dtype)
