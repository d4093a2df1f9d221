"""A definition's reference, executed by a torch worker."""

import atexit
import functools
import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from jaxkern.tasks.task import Argument, Arrays, shape_of
from jaxkern.tasks.torch_worker import TorchWorker

_TIMEOUT_S = 120.0


@functools.cache
def _worker() -> TorchWorker:
  """One for all references of this process, started by the first call."""
  made = TorchWorker()
  atexit.register(made.close)
  return made


def function(
  name: str, made: Mapping, arguments: Sequence[Argument]
) -> Callable[..., Arrays]:
  """As a Task's `exact`: in float64 whatever the reference asks for.

  For another dtype the reference computes as it is written.
  """
  outputs = {a.name: a for a in arguments if a.kind == "output"}

  def exact(inputs: Arrays, attributes: Mapping, dtype="float64") -> Arrays:
    """Raises ValueError if the reference fails or returns something else."""
    double = dtype == "float64"
    with tempfile.TemporaryDirectory(prefix="jaxkern-") as scratch:
      directory = pathlib.Path(scratch)
      entries = [
        _entry(directory, key, inputs[key], double)
        if key in inputs
        else {"value": attributes[key]}
        for key in made["inputs"]
      ]
      job = {
        "kind": "definition",
        "source": made["reference"],
        "inputs": entries,
        "outputs": list(outputs),
        "double": double,
      }
      answer = _worker().run(job, directory, _TIMEOUT_S)
      if answer["status"] != "ok":
        log = answer["log"].strip()
        raise ValueError(f"task: {name}: its reference fails: {log}")
      found = [_array(directory, entry) for entry in answer["outputs"]]
    _check(name, found, outputs.values(), attributes)
    return dict(zip(outputs, found, strict=True))

  return exact


def _entry(directory: pathlib.Path, key: str, x: np.ndarray, double: bool):
  """The array in a file, and what the worker needs to know of it."""
  if double and x.dtype.kind not in "iub":
    x = x.astype(np.float64)
  dtype = x.dtype.name
  if dtype == "bfloat16":
    x = x.view(np.uint16)
  np.save(directory / f"in.{key}.npy", x)
  return {"file": f"in.{key}.npy", "dtype": dtype}


def _array(directory: pathlib.Path, entry: Mapping) -> np.ndarray:
  array = np.load(directory / entry["file"], allow_pickle=False)
  if entry["dtype"] == "bfloat16":  # Exact, and what NumPy can compute with.
    array = (array.astype(np.uint32) << 16).view(np.float32)
  return array


def _check(name: str, found, outputs, attributes: Mapping) -> None:
  expected = [shape_of(a, attributes) for a in outputs]
  if [x.shape for x in found] != expected:
    got = ", ".join(str(list(x.shape)) for x in found)
    wanted = ", ".join(str(list(shape)) for shape in expected)
    raise ValueError(
      f"task: {name}: expected its reference to return arrays of {wanted}, got"
      f" {got}"
    )
