"""A KernelBench problem as a function of arrays, for the lint."""

import os
import pathlib
import re
import shutil
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from jaxkern.tasks import lint
from jaxkern.tasks.kernelbench import WEIGHT_SEED, Prepared, Refused, prepare
from jaxkern.tasks.torch_worker import TorchWorker

# What a normalisation keeps for later; in training it is only written.
_STATISTICS = re.compile(r"running_(mean|var)$|num_batches_tracked$")


class Function(NamedTuple):
  """A prepared problem as a function of arrays, for `lint`.

  Attributes:
    inputs: of the first variant: x0, ... and the weights, by name.
    others: the same of the second variant; weights moved by 0.25 to 0.75.
    reference: arrays by name -> outputs y0, ... by name, in a torch worker.
    tolerance: (rtol, atol).
  """

  inputs: dict[str, np.ndarray]
  others: dict[str, np.ndarray]
  reference: Callable[[Mapping[str, np.ndarray]], dict[str, np.ndarray]]
  tolerance: tuple[float, float]


def function(
  worker: TorchWorker, prepared: Prepared, directory: str | os.PathLike
) -> Function:
  """The problem's reference, to be called with other arrays.

  Buffers are no inputs. `directory` is for the files of its calls. The function
  raises Refused where the problem cannot be run on what it is given.
  """
  directory = pathlib.Path(directory)
  directory.mkdir(parents=True, exist_ok=True)
  made = prepared.facts["reference"]
  first, second = made["variants"][:2]
  entries = {f"x{i}": e for i, e in enumerate(first["inputs"]) if "file" in e}
  entries |= made["weights"]
  entries = {k: e for k, e in entries.items() if not _STATISTICS.search(k)}

  def read(name: str) -> np.ndarray:
    """A file of the problem's."""
    return np.load(prepared.directory / name, allow_pickle=False)

  inputs = {k: read(e["file"]) for k, e in entries.items()}
  rng = np.random.default_rng(0)
  others = {
    k: (x + rng.uniform(0.25, 0.75, x.shape)).astype(x.dtype)
    for k, x in inputs.items()
  }
  for i, entry in enumerate(second["inputs"]):
    if f"x{i}" in others:
      others[f"x{i}"] = read(entry["file"])

  def reference(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """One forward in the worker."""
    return _apply(worker, prepared, directory, entries, arrays)

  return Function(inputs, others, reference, (made["rtol"], made["atol"]))


def findings(
  worker: TorchWorker, source: str, directory: str | os.PathLike
) -> lint.Findings:
  """The lint's, of a problem's text at reduced sizes, by our tolerance.

  Raises:
    Refused: the problem cannot be run.
    ValueError: there is no torch.
  """
  directory = pathlib.Path(directory)
  prepared = prepare(worker, source, directory / "cache")
  made = function(worker, prepared, directory / "calls")
  return lint.lint(
    made.inputs, made.reference, made.tolerance, others=made.others
  )


def _apply(
  worker: TorchWorker,
  prepared: Prepared,
  directory: pathlib.Path,
  entries: Mapping[str, dict],
  arrays: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
  """Outputs for arrays by name; `entries` are what they replace."""
  made = prepared.facts["reference"]
  files = {}
  for k, name in enumerate(entries):
    files[name] = {**entries[name], "file": f"given{k}.npy"}
    np.save(directory / f"given{k}.npy", arrays[name])
  inputs = made["variants"][0]["inputs"]
  for i, entry in enumerate(inputs):
    if "file" in entry and f"x{i}" not in files:
      shutil.copyfile(
        prepared.directory / entry["file"], directory / entry["file"]
      )
  job = {
    "kind": "apply",
    "source": prepared.source,
    "sizes": prepared.sizes,
    "weight_seed": WEIGHT_SEED,
    "inputs": [files.get(f"x{i}", entry) for i, entry in enumerate(inputs)],
    "weights": {k: e for k, e in files.items() if k in made["weights"]},
    "double": not made["tolerance"].startswith("kernelbench"),
  }
  answer = worker.run(job, directory)
  if answer["status"] != "ok":
    raise Refused(answer["status"], answer["log"])
  return {
    f"y{k}": np.load(directory / entry["file"], allow_pickle=False)
    for k, entry in enumerate(answer["outputs"])
  }
