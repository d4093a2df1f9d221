"""The small checkpoints as GGUF, written as llama.cpp's converter does."""

import pathlib

import gguf
import numpy as np
import small_checkpoints as small
from gguf import GGMLQuantizationType as Kind

from jaxkern.models import architecture, tensors


def neighbours(array: np.ndarray, heads: int) -> np.ndarray:
  """Rows of a head as llama.cpp wants them: 0, D/2, 1, D/2 + 1, ..."""
  depth = len(array) // heads
  rows = np.arange(depth).reshape(2, depth // 2).T.reshape(-1)
  rows = (np.arange(heads)[:, None] * depth + rows[None, :]).reshape(-1)
  return array[rows]


def add_metadata(writer: gguf.GGUFWriter, config: dict) -> None:
  """What the converter writes of a config.json."""
  shape = architecture.from_config(config)
  writer.add_context_length(shape.max_positions)
  writer.add_embedding_length(shape.width)
  writer.add_block_count(shape.layers)
  writer.add_feed_forward_length(shape.hidden)
  writer.add_head_count(shape.heads)
  writer.add_head_count_kv(shape.kv_heads)
  writer.add_key_length(shape.head_width)
  writer.add_rope_dimension_count(shape.head_width)
  writer.add_rope_freq_base(shape.rope_base)
  writer.add_layer_norm_rms_eps(shape.norm_epsilon)
  scaling = config.get("rope_scaling") or {}
  kind = scaling.get("rope_type", scaling.get("type"))
  if kind in ("linear", "yarn"):
    writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
    writer.add_rope_scaling_factor(scaling["factor"])
  if kind == "yarn":
    original = scaling["original_max_position_embeddings"]
    writer.add_rope_scaling_orig_ctx_len(original)
    writer.add_rope_scaling_yarn_beta_fast(scaling["beta_fast"])


def write(
  path: pathlib.Path,
  config: dict,
  arrays: dict[str, np.ndarray],
  kind: Kind = Kind.F32,
  extra=lambda writer: None,
) -> pathlib.Path:
  """A file of arrays, by their names in Hugging Face files.

  Args:
    kind: of the matrices; uint8 arrays are taken for quantised already.
    extra: adds to the writer.
  """
  writer = gguf.GGUFWriter(path, config["model_type"])
  add_metadata(writer, config)
  shape = architecture.from_config(config)
  for tensor in tensors.tensors(shape):
    array = arrays[tensor.huggingface]
    if config["model_type"] == "llama" and array.dtype != np.uint8:
      if tensor.path[-2:] == ("q", "kernel"):
        array = neighbours(array, shape.heads)
      if tensor.path[-2:] == ("k", "kernel"):
        array = neighbours(array, shape.kv_heads)
    its_kind = kind if len(tensor.shape) > 1 else Kind.F32
    if array.dtype != np.uint8:
      array = gguf.quantize(array, its_kind)
    writer.add_tensor(tensor.gguf, array, raw_dtype=its_kind)
  extra(writer)
  writer.write_header_to_file()
  writer.write_kv_data_to_file()
  writer.write_tensors_to_file()
  writer.close()
  return path


def write_family(path: pathlib.Path, family: str, **options) -> pathlib.Path:
  return write(path, small.config(family), small.weights(family), **options)
