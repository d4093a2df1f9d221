"""Tensors as the .npy files that bundles hold, both ways."""

import pathlib

import numpy as np
import torch

from jaxkern.tasks.job_files import DTYPES
from jaxkern.tasks.torch_child import problem


def load(entry: dict, directory: pathlib.Path) -> torch.Tensor:
  """An array as `save` writes it."""
  array = np.load(directory / entry["file"], allow_pickle=False)
  if entry["dtype"] == "bfloat16":
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
  return torch.from_numpy(array)


def save(directory: pathlib.Path, stem: str, tensor: torch.Tensor) -> dict:
  """Writes the tensor as bundles hold it; its file, dtype and shape."""
  dtype = str(tensor.dtype).removeprefix("torch.")
  if dtype not in DTYPES:
    raise problem.Unfit("unsupported", f"there are tensors of {dtype}")
  tensor = tensor.detach().cpu().contiguous()
  shape = list(tensor.shape)
  if dtype == "bfloat16":
    tensor = tensor.view(torch.int16)
  array = tensor.numpy()
  if dtype == "bfloat16":
    array = array.view(np.uint16)
  np.save(directory / f"{stem}.npy", array)
  return {"file": f"{stem}.npy", "dtype": dtype, "shape": shape}
