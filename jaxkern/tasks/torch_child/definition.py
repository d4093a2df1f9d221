"""The `run` of a flashinfer-bench definition, on inputs that are given."""

import pathlib

import torch
from torch.overrides import TorchFunctionMode

from jaxkern.tasks.torch_child import problem
from jaxkern.tasks.torch_child.arrays import load, save

_CASTS = (torch.Tensor.float, torch.Tensor.half, torch.Tensor.bfloat16)


class _Wide(TorchFunctionMode):
  """Whatever floating dtype a function is asked for, it is float64."""

  def __torch_function__(self, func, types, args=(), kwargs=None):
    if func in _CASTS:
      func = torch.Tensor.double
    args = [_wide(a) for a in args]
    return func(*args, **{k: _wide(v) for k, v in (kwargs or {}).items()})


def _wide(value):
  if isinstance(value, torch.dtype) and value.is_floating_point:
    return torch.float64
  return value


def run(job: dict, directory: pathlib.Path) -> dict:
  """Files out0.{k}.npy; in float64 throughout if job['double'].

  job['inputs'] are entries in the order of `run`'s arguments, job['outputs']
  the outputs' names.
  """
  names = {"__name__": "definition"}
  try:
    exec(compile(job["source"], "reference", "exec"), names)
  except ImportError as error:
    raise problem.Unfit(
      "unsupported", f"needs {error.name or error}"
    ) from error
  given = [
    entry["value"] if "value" in entry else load(entry, directory)
    for entry in job["inputs"]
  ]
  with torch.no_grad():
    if job["double"]:
      torch.set_default_dtype(torch.float64)
      with _Wide():
        made = names["run"](*given)
    else:
      made = names["run"](*given)
  if isinstance(made, dict):
    made = [made[name] for name in job["outputs"]]
  return {
    "status": "ok",
    "outputs": [
      save(directory, f"out0.{k}", tensor)
      for k, tensor in enumerate(problem.outputs(made))
    ],
  }
