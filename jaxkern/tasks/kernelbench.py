"""KernelBench's problems as bundles: read, cut down to size, run in torch.

A problem is a Python file with Model, get_inputs and get_init_inputs. It is
executed by a torch worker only (torch_worker.py). What comes back, inputs,
weights and expected outputs, makes a bundle that the evaluator judges without
torch; docs/kernelbench.md is the whole story.
"""

import hashlib
import json
import os
import pathlib
import re
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from jaxkern.tasks import job_files
from jaxkern.tasks.bundle import VARIANTS_CHECKED, VARIANTS_TIMED
from jaxkern.tasks.torch_worker import TorchWorker

LEVELS = (1, 2, 3, 4)
WEIGHT_SEED = 42  # The benchmark's own.
# Of its present harness for float32; v0 and v0.1 had 1e-2.
TOLERANCE = 1e-4
TOLERANCE_V01 = 1e-2
# What a naive kernel does on the cpu device in some hundredths of a second.
BUDGET = {"flops": 1 << 25, "traffic": 8 << 20}
# Beyond this multiple of it a problem is not run at reduced sizes.
_MOST_EXCESS = 10
_MOST_BYTES = 8 << 30  # Of the arrays of all variants at a problem's own sizes.
_FILE = re.compile(r"(\d+)_(.*)\.py")


class Problem(NamedTuple):
  """A problem's file.

  Attributes:
    level, number: as the benchmark counts.
    name: the file's, with '.py', as its own JSON files have it.
    source: the text.
  """

  level: int
  number: int
  name: str
  source: str


class Refused(Exception):
  """A problem that cannot be run here; `status` is a Result's."""

  def __init__(self, status: str, message: str):
    """`message` says why."""
    super().__init__(message)
    self.status = status


class Prepared(NamedTuple):
  """A problem that has been run: what bundles are made of.

  Attributes:
    directory: where the arrays lie.
    source: the problem's text.
    facts: the answers of the worker: 'measure' (costs, changed sizes) and
      'reference' (files, tolerance).
  """

  directory: pathlib.Path
  source: str
  facts: dict

  @property
  def sizes(self) -> dict[str, int]:
    """The sizes that were changed, by their place in the text."""
    return self.facts["measure"]["sizes"] if self.facts["reduced"] else {}


def problems(
  directory: str | os.PathLike, levels: Sequence[int] = LEVELS
) -> list[Problem]:
  """All problems of a checkout, by level and number.

  `directory` is the repository, or the folder that holds level1, level2, ....

  Raises:
    ValueError: it holds no levels.
  """
  root = pathlib.Path(directory)
  for place in (root / "KernelBench", root):
    if any((place / f"level{k}").is_dir() for k in LEVELS):
      break
  else:
    raise ValueError(
      f"--kernelbench: expected a folder with level1, level2, ..., got {root}"
    )
  found = []
  for level in levels:
    for path in (place / f"level{level}").glob("*.py"):
      if match := _FILE.fullmatch(path.name):
        text = path.read_text(encoding="utf-8")
        found.append(Problem(level, int(match[1]), path.name, text))
  return sorted(found)


def prepare(
  worker: TorchWorker,
  source: str,
  cache: str | os.PathLike,
  *,
  reduced: bool = True,
  device: str = "cpu",
  timeout_s: float = 120.0,
) -> Prepared:
  """Runs a problem's reference, or finds what an earlier call left in `cache`.

  Args:
    worker: runs it.
    source: the problem's text.
    cache: a directory; readable for its owner only, since it holds answers.
    reduced: at sizes that fit BUDGET, else at its own.
    device: torch's, that the reference runs on: 'cpu' or 'cuda'.
    timeout_s: for each of the two jobs.

  Raises:
    Refused: it cannot be run, and why.
    ValueError: there is no torch.
  """
  key = json.dumps([source, reduced, device, BUDGET, 1])
  name = hashlib.sha256(key.encode()).hexdigest()[:24]
  cache = pathlib.Path(cache)
  cache.mkdir(parents=True, exist_ok=True, mode=0o700)
  target = cache / name
  facts = target / "facts.json"
  if not facts.exists():
    made = pathlib.Path(tempfile.mkdtemp(prefix=".new-", dir=cache))
    try:
      found = _run(worker, source, made, reduced, device, timeout_s)
      (made / "facts.json").write_text(json.dumps(found))
      try:
        made.rename(target)
      except OSError:  # Another process was faster.
        if not facts.exists():
          raise
    finally:
      shutil.rmtree(made, ignore_errors=True)
  return Prepared(target, source, json.loads(facts.read_text()))


def _run(worker, source, directory, reduced, device, timeout_s) -> dict:
  job = {"kind": "measure", "source": source, "budget": BUDGET}
  job["seconds"] = timeout_s / 4 if reduced else 0
  measured = worker.run(job, directory, timeout_s)
  if measured["status"] != "ok":
    raise Refused(measured["status"], measured["log"])
  cost = measured["reduced" if reduced else "full"]
  if reduced:
    excess = max(cost[k] / most for k, most in BUDGET.items())
    if excess > _MOST_EXCESS:
      why = measured["over_budget"] or "nothing more can be halved"
      log = f"{excess:.0f} times what the cpu device is for; {why}"
      raise Refused("unsupported", log)
    variants = VARIANTS_TIMED
  else:
    most = _MOST_BYTES // max(cost["bytes"], 1)
    variants = max(VARIANTS_CHECKED, min(VARIANTS_TIMED, most))
  job = {
    "kind": "reference",
    "source": source,
    "sizes": measured["sizes"] if reduced else {},
    "weight_seed": WEIGHT_SEED,
    "input_seeds": [secrets.randbits(62) for _ in range(variants)],
    "terms": cost["terms"],
    "fallback": TOLERANCE,
    "device": device,
    "writable": ["/dev"] if device == "cuda" else [],
  }
  made = worker.run(job, directory, timeout_s)
  for name in ("job.json", "job.log", "result.json"):
    (directory / name).unlink(missing_ok=True)
  if made["status"] != "ok":
    raise Refused(made["status"], made["log"])
  return {"measure": measured, "reference": made, "reduced": reduced}


class Trace(NamedTuple):
  """A candidate's forward as one C++ function.

  Attributes:
    text: in torch's form, for the evaluator.
    inputs: indices of get_inputs() in the function's order.
    weights: further arguments by name: file, dtype, shape.
    cuda: the CUDA texts as the candidate handed them over.
    directory: where the weights' files lie, which no candidate wrote.
  """

  text: str
  inputs: list[int]
  weights: dict[str, dict]
  cuda: list[str]
  directory: pathlib.Path


def trace(
  worker: TorchWorker,
  prepared: Prepared,
  candidate: str,
  directory: str | os.PathLike,
  timeout_s: float = 30.0,
) -> Trace:
  """Follows ModelNew.forward. Raises Refused if it needs torch.

  The candidate's code runs in the job, so what the job left is a stranger's:
  the weights are read by `job_files` and written anew.
  """
  directory = pathlib.Path(directory)
  job = {
    "kind": "trace",
    "source": prepared.source,
    "sizes": prepared.sizes,
    "candidate": candidate,
    "weight_seed": WEIGHT_SEED,
    "memory_bytes": job_files.MOST_ARRAYS,
  }
  answer = worker.run(job, directory / "job", timeout_s)
  if answer["status"] != "ok":
    raise Refused(answer["status"], answer["log"])
  try:
    return _traced(prepared, answer, directory)
  except job_files.Left as error:
    raise Refused("crash", f"the trace's result: {error}") from None


def _traced(prepared: Prepared, answer: dict, directory: pathlib.Path) -> Trace:
  """The answer of a trace, looked through; raises Left."""
  text, inputs, state, cuda = (
    answer.get(k) for k in ("text", "inputs", "weights", "cuda")
  )
  count = len(prepared.facts["reference"]["variants"][0]["inputs"])
  if not (
    isinstance(text, str)
    and isinstance(inputs, list)
    and all(type(i) is int and 0 <= i < count for i in inputs)
    and isinstance(state, dict)
    and all(re.fullmatch(r"w\d+", name, re.ASCII) for name in state)
    and isinstance(cuda, list)
    and all(isinstance(c, str) for c in cuda)
  ):
    raise job_files.Left("no text, inputs, weights and CUDA texts")
  job_files.check_total(list(state.values()))
  weights = {}
  for name, entry in state.items():
    np.save(
      directory / f"c{name}.npy", job_files.load(directory / "job", entry)
    )
    weights[name] = {**entry, "file": f"c{name}.npy"}
  return Trace(text, inputs, weights, cuda, directory)


def write_bundle(
  prepared: Prepared,
  directory: pathlib.Path,
  *,
  name: str = "kernelbench",
  traced: Trace | None = None,
  tolerance: tuple[float, float] | None = None,
) -> None:
  """A bundle of the problem; files are linked, not copied, where they can be.

  Args:
    prepared: the problem.
    directory: a new one.
    name: of the bundle.
    traced: whose arguments; None for those of the native form, all inputs (x0,
      ...), then Model's parameters and buffers. Outputs are y0, ....
    tolerance: (rtol, atol), else the derived one.

  Raises:
    Refused: an input is neither an array nor a number.
  """
  directory.mkdir(parents=True)
  made = prepared.facts["reference"]
  first = made["variants"][0]
  used = list(range(len(first["inputs"])) if traced is None else traced.inputs)
  state = made["weights"] if traced is None else traced.weights
  origin = (traced or prepared).directory
  safe = {key: re.sub(r"\W", "_", key) for key in state}
  given = {f"x{i}": first["inputs"][i] for i in used}
  numbers = {k: e["value"] for k, e in given.items() if "value" in e}
  arguments = [
    *(_argument(k, "input", e) for k, e in given.items()),
    *(_argument(safe[k], "input", e) for k, e in state.items()),
    *(_argument(f"y{k}", "output", e) for k, e in enumerate(first["outputs"])),
  ]
  weights = {safe[k]: _link(origin, directory, state[k]["file"]) for k in state}
  variants = [
    _variant(v, used, weights, prepared, directory) for v in made["variants"]
  ]
  case = {"attributes": numbers, "timed": True}
  case["rtol"], case["atol"] = tolerance or (made["rtol"], made["atol"])
  problem = {
    "format": 1,
    "name": re.sub(r"\W", "_", name),
    "level": 1,
    "summary": "KernelBench",
    "arguments": arguments,
    "cases": [{**case, **variants[0], "variants": variants[1:]}],
  }
  (directory / "problem.json").write_text(json.dumps(problem))


def _variant(variant: dict, used, weights: dict, prepared, target) -> dict:
  """A variant as problem.json lists it, its files linked."""
  origin = prepared.directory
  inputs = {
    f"x{i}": _link(origin, target, variant["inputs"][i]["file"])
    for i in used
    if "file" in variant["inputs"][i]
  }
  outputs = {
    f"y{k}": _link(origin, target, entry["file"])
    for k, entry in enumerate(variant["outputs"])
  }
  return {"inputs": {**inputs, **weights}, "outputs": outputs}


def _argument(name: str, kind: str, entry: dict) -> dict:
  """An array, or a number, which is an attribute then."""
  if "value" not in entry:
    dtype, shape = entry["dtype"], entry["shape"]
    return {"name": name, "kind": kind, "dtype": dtype, "shape": shape}
  kinds = {int: "int64", float: "float32", bool: "bool"}
  found = type(entry["value"])
  if found not in kinds:
    raise Refused("unsupported", f"an input is a {found.__name__}, no number")
  return {"name": name, "kind": "attribute", "dtype": kinds[found], "shape": []}


def _link(origin: pathlib.Path, target: pathlib.Path, file: str) -> str:
  """The file in the bundle, under its own name."""
  to = target / file
  if not to.exists():
    try:
      os.link(origin / file, to)
    except OSError:
      shutil.copyfile(origin / file, to)
  return file
