"""Checkpoints as Hugging Face directories: config.json and safetensors."""

import json
import os
import pathlib
from collections.abc import Iterator
from typing import Any

import jax.numpy as jnp
import numpy as np
import safetensors
import safetensors.numpy

from jaxkern.models import architecture as architectures
from jaxkern.models import tensors
from jaxkern.models.architecture import Architecture
from jaxkern.models.tensors import Source

_SINGLE = "model.safetensors"
_INDEX = "model.safetensors.index.json"
_SHARD = "model-{:0>5}-of-{:0>5}.safetensors"
_SHARD_BYTES = 2 << 30


def read_architecture(directory: pathlib.Path) -> Architecture:
  """What the directory's config.json describes.

  Raises:
    ValueError: see `architecture.from_config`.
  """
  path = directory / "config.json"
  return architectures.from_config(read_json(path), str(path))


def source(directory: pathlib.Path, architecture: Architecture) -> Source:
  """The directory's tensors.

  Raises:
    ValueError: a file is missing, cut off, or not what the index says.
  """
  files = _files(directory)
  opened = {path: _open(path) for path in dict.fromkeys(files.values())}
  if not files:
    opened = {directory / _SINGLE: _open(directory / _SINGLE)}
    [(path, file)] = opened.items()
    files = dict.fromkeys(file.keys(), path)
  shapes = {}
  for name, path in files.items():
    if name not in opened[path].keys():
      raise ValueError(f"{path}: {name}: expected as in {_INDEX}, got nothing")
    shapes[name] = tuple(opened[path].get_slice(name).get_shape())

  def read(tensor: tensors.Tensor) -> np.ndarray:
    """A copy, so that the file's pages can go."""
    return opened[files[tensor.huggingface]].get_tensor(tensor.huggingface)

  def ignored(name: str) -> bool:
    """Old files hold RoPE's frequencies, some a tied head once more."""
    once_more = architecture.tied and name == "lm_head.weight"
    return once_more or name.endswith("rotary_emb.inv_freq")

  return Source(
    name=lambda tensor: tensor.huggingface,
    shapes=shapes,
    where=lambda name: str(files.get(name, directory)),
    read=read,
    ignored=ignored,
  )


def export(
  params: Any, architecture: Architecture, directory: pathlib.Path
) -> None:
  """Writes config.json and safetensors, in shards if they are large.

  What an earlier export left goes first, and config.json comes last: nothing
  is ever read as a mixture of two.
  """
  directory.mkdir(parents=True, exist_ok=True)
  for name in ("config.json", _INDEX, _SINGLE, _SHARD.format("?????", "?????")):
    for path in directory.glob(name):
      path.unlink()
  shards = list(_shards(params, architecture))
  dtype, weight_map, total = None, {}, 0
  for i, shard in enumerate(shards, 1):
    file = _SINGLE
    if len(shards) > 1:
      file = _SHARD.format(i, len(shards))
    arrays = {
      tensor.huggingface: np.ascontiguousarray(tensors.get(params, tensor))
      for tensor in shard
    }
    dtype = next(iter(arrays.values())).dtype.name
    safetensors.numpy.save_file(arrays, directory / file, {"format": "pt"})
    weight_map |= dict.fromkeys(arrays, file)
    total += sum(array.nbytes for array in arrays.values())
  if len(shards) > 1:
    index = {"metadata": {"total_size": total}, "weight_map": weight_map}
    write_json(directory / _INDEX, index)
  config = architectures.to_config(architecture)
  write_json(directory / "config.json", config | {"torch_dtype": dtype})


def read_json(path: pathlib.Path) -> dict[str, Any]:
  """The object in a file.

  Raises:
    ValueError: there is no such file, or no object in it.
  """
  try:
    value = json.loads(path.read_text(encoding="utf-8"))
  except (OSError, ValueError) as error:
    raise ValueError(f"{path}: expected a JSON file: {error}") from error
  if not isinstance(value, dict):
    raise ValueError(f"{path}: expected an object, got {type(value).__name__}")
  return value


def write_json(path: str | os.PathLike, value: dict[str, Any]) -> None:
  """Writes an object as transformers lays it out."""
  text = json.dumps(value, indent=2, ensure_ascii=False) + "\n"
  pathlib.Path(path).write_text(text, encoding="utf-8")


def _files(directory: pathlib.Path) -> dict[str, pathlib.Path]:
  """The file of each tensor as the index has it; {} if there is no index."""
  index = directory / _INDEX
  if not index.exists():
    if not (directory / _SINGLE).exists():
      raise ValueError(f"{directory}: expected {_SINGLE} or {_INDEX}, got none")
    return {}
  weight_map = read_json(index).get("weight_map")
  if not isinstance(weight_map, dict) or not weight_map:
    raise ValueError(f"{index}: weight_map: expected names of files, got none")
  for name, file in weight_map.items():
    if not isinstance(file, str):
      raise ValueError(
        f"{index}: weight_map: {name}: expected a file's name, got {file!r}"
      )
  files = {name: directory / file for name, file in weight_map.items()}
  for name, path in files.items():
    if not path.exists():
      raise ValueError(f"{path}: expected a file with {name}, got none")
  return files


def _open(path: pathlib.Path) -> Any:
  try:
    return safetensors.safe_open(path, framework="numpy")
  except safetensors.SafetensorError as error:
    size = path.stat().st_size
    raise ValueError(
      f"{path}: expected a whole safetensors file, got {size} bytes: {error}"
    ) from error


def _shards(
  params: Any, architecture: Architecture
) -> Iterator[list[tensors.Tensor]]:
  """The tensors, divided into files."""
  shard, size = [], 0
  for tensor in tensors.tensors(architecture):
    dtype = tensors.get(params, tensor).dtype
    nbytes = int(np.prod(tensor.shape)) * jnp.dtype(dtype).itemsize
    if shard and size + nbytes > _SHARD_BYTES:
      yield shard
      shard, size = [], 0
    shard.append(tensor)
    size += nbytes
  yield shard
