"""A problem's Python executed: Model, get_inputs, get_init_inputs."""

import copy
from typing import Any

import torch

from jaxkern.tasks.torch_child import constants


class Unfit(Exception):
  """What a problem or candidate is or does that cannot be handled.

  `status` is a Result's: 'unsupported', 'runtime_error', 'extract_error'.
  """

  def __init__(self, status: str, message: str):
    """`message` says why."""
    super().__init__(message)
    self.status = status


def load(source: str, values: dict[str, int]) -> dict[str, Any]:
  """What the text defines. Raises Unfit if that is too little."""
  names: dict[str, Any] = {"__name__": "problem"}
  try:
    exec(constants.code(source, values, "reference.py"), names)
  except ImportError as error:
    raise Unfit("unsupported", f"needs {error.name or error}") from error
  for name in ("Model", "get_inputs", "get_init_inputs"):
    if name not in names:
      raise Unfit("extract_error", f"the reference defines no {name}")
  return names


def make(names: dict, entry: str, seed: int) -> torch.nn.Module:
  """A model with weights of that seed, in the benchmark's order of calls."""
  torch.manual_seed(seed)
  arguments = names["get_init_inputs"]()
  torch.manual_seed(seed)
  if isinstance(arguments, dict):
    return names[entry](**arguments)
  return names[entry](*arguments)


def inputs(names: dict, seed: int) -> list:
  """get_inputs() of that seed; the generator is left as forward finds it."""
  torch.manual_seed(seed)
  made = list(names["get_inputs"]())
  torch.manual_seed(seed)
  return made


def outputs(value: Any) -> list[torch.Tensor]:
  """What forward returned, as a flat list of tensors."""
  if isinstance(value, torch.Tensor):
    return [value]
  if isinstance(value, list | tuple):
    return [tensor for item in value for tensor in outputs(item)]
  if isinstance(value, dict):
    return [tensor for item in value.values() for tensor in outputs(item)]
  raise Unfit(
    "unsupported", f"forward returns a {type(value).__name__}, no tensors"
  )


def double(value: Any) -> Any:
  """Copies of floating tensors in float64, all else as it is."""
  if isinstance(value, torch.nn.Module):
    return copy.deepcopy(value).double()
  if isinstance(value, torch.Tensor) and value.is_floating_point():
    return value.double()
  if isinstance(value, list | tuple):
    return type(value)(double(item) for item in value)
  return value
