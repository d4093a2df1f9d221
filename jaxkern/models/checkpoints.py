"""Checkpoints of others, in and out: Hugging Face directories and GGUF."""

import functools
import os
import pathlib
from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp

from jaxkern.models import gguf_file, huggingface, tensors, text
from jaxkern.models.architecture import Architecture
from jaxkern.models.text import Text


class Checkpoint(NamedTuple):
  """What a checkpoint holds.

  Attributes:
    architecture: for `transformer.build` and `autoregressive`.
    params: of `Transformer`, on the default device.
    text: tokenizer and chat template, if the checkpoint has them.
  """

  architecture: Architecture
  params: Any
  text: Text | None


def load(path: str | os.PathLike, dtype: Any = jnp.float32) -> Checkpoint:
  """Reads a Hugging Face directory or a GGUF file, one tensor at a time.

  All shapes are checked before the first tensor is read.

  Args:
    path: the directory or the file.
    dtype: of the parameters.

  Raises:
    ValueError: what is there cannot be used; names the file, the key or
      tensor, expected and got.
  """
  architecture, its_text, source = _opened(pathlib.Path(path))
  tensors.check(architecture, source := source())
  return Checkpoint(
    architecture, tensors.load(architecture, source, dtype), its_text
  )


def describe(path: str | os.PathLike) -> tuple[Architecture, Text | None]:
  """What a checkpoint is and how it reads and writes, without its parameters.

  Raises:
    ValueError: as `load`.
  """
  return _opened(pathlib.Path(path))[:2]


def export(
  params: Any,
  architecture: Architecture,
  directory: str | os.PathLike,
  its_text: Text | None = None,
) -> None:
  """Writes a directory that `load` and transformers read.

  Args:
    params: of `Transformer`; their dtype is the files'.
    architecture: theirs.
    directory: made if missing.
    its_text: tokenizer and chat template to add.
  """
  directory = pathlib.Path(directory)
  huggingface.export(params, architecture, directory)
  if its_text is not None:
    its_text.save(directory)


def _opened(
  path: pathlib.Path,
) -> tuple[Architecture, Text | None, Callable[[], tensors.Source]]:
  """What `describe` returns, and what opens the tensors."""
  if path.is_dir():
    architecture = huggingface.read_architecture(path)
    its_text = text.from_directory(path)
    source = functools.partial(huggingface.source, path, architecture)
  elif path.is_file():
    file = gguf_file.File(path)
    architecture, its_text, source = (
      file.architecture(),
      file.text(),
      file.source,
    )
  else:
    raise ValueError(f"{path}: expected a directory or a GGUF file, got none")
  if its_text is not None:
    text.check(its_text, architecture)
  return architecture, its_text, source
