"""Where candidate kernels come from, and what is wrong with the others.

A row becomes a Candidate or a Malformed with its reason; no row is fatal. Rows
of JSON lines and Parquet name their columns as their makers did: COLUMNS has
the names that are understood.
"""

import hashlib
import json
import os
import pathlib
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow
import pyarrow.parquet

from jaxkern.data import corpus
from jaxkern.rollout import kernelbench_prompts, prompts

# What a row may call a task's name, a PyTorch reference and a kernel.
COLUMNS = {
  "task": ("task", "task_name", "op_name", "problem"),
  "reference": ("reference", "pytorch_code", "torch_code", "prompt"),
  "kernel": (
    "kernel",
    "cuda_code",
    "cuda",
    "source",
    "response",
    "completion",
  ),
}
# Files of a run or an evaluation that hold kernels of a policy.
RUN_FILES = (
  "results.jsonl",
  "before.jsonl",
  "after.jsonl",
  "new_tasks_before.jsonl",
  "new_tasks_after.jsonl",
  "corpus.jsonl",
)
_FENCE = re.compile(r"```(?:\w+)?[ \t]*\n(.*?)```", re.DOTALL)
_MODEL = re.compile(r"^class Model\b", re.MULTILINE)
_TASK_LINE = re.compile(r"\A\s*// task: (\S+)")
_ROWS_AT_ONCE = 1024
_MOST_CHARACTERS = 200_000


class Candidate(NamedTuple):
  """A kernel that claims to solve something.

  Attributes:
    task: the name of a task of ours, or '' if there is a reference.
    reference: a PyTorch module's text, or ''.
    kernel: CUDA C++, or a Python file with it; '' if no kernel was in the text.
    origin: where it comes from; JSON.
  """

  task: str
  reference: str
  kernel: str
  origin: Mapping[str, Any]

  @property
  def key(self) -> str:
    """The same for the same kernel of the same task, wherever it is from."""
    text = json.dumps([self.task, self.reference, self.kernel])
    return hashlib.sha256(text.encode()).hexdigest()[:24]


class Malformed(NamedTuple):
  """A row that is no candidate, and why."""

  origin: Mapping[str, Any]
  reason: str


Row = Candidate | Malformed


def read(path: str | os.PathLike, tasks: Container[str]) -> Iterator[Row]:
  """The rows of a file or folder; its kind follows from what is there.

  A .jsonl or .parquet file; a run's or an evaluation's directory (RUN_FILES);
  a folder of .cu files, called TASK.cu, TASK_K.cu or TASK/ANYTHING.cu, or with
  a first line '// task: TASK'.

  Args:
    path: what to read.
    tasks: names of tasks that are known.

  Raises:
    ValueError: it is none of these.
  """
  path = pathlib.Path(path)
  if path.suffix == ".jsonl" and path.is_file():
    return _of_jsonl(path, tasks)
  if path.suffix == ".parquet" and path.is_file():
    return _of_parquet(path, tasks)
  runs = [path / name for name in RUN_FILES if (path / name).is_file()]
  if runs:
    return (row for file in runs for row in _of_jsonl(file, tasks))
  files = sorted(path.rglob("*.cu")) if path.is_dir() else []
  if files:
    return (_of_file(file, path, tasks) for file in files)
  raise ValueError(
    f"source: expected a .jsonl or .parquet file, a folder of .cu files or a"
    f" run's directory, got {path}"
  )


def generated(
  name: str, proposals: Sequence[corpus.Proposal], seed: int
) -> Iterator[Candidate]:
  """Candidates of a generator of ours; broken attempts are left out."""
  for index, proposal in enumerate(proposals):
    origin = {"source": name, "seed": seed, "index": index}
    yield Candidate(proposal.task, "", proposal.source, origin)


def _of_jsonl(path: pathlib.Path, tasks) -> Iterator[Row]:
  with open(path, "rb") as file:
    for number, line in enumerate(file, 1):
      origin = {"source": "jsonl", "path": path.name, "row": number}
      if not line.strip():
        continue
      try:
        row = json.loads(line.decode())
      except ValueError as error:  # UnicodeDecodeError is one, too.
        yield Malformed(origin, f"not JSON: {error}")
        continue
      yield from _of_row(row, origin, tasks)


def _of_parquet(path: pathlib.Path, tasks) -> Iterator[Row]:
  known = {name for names in COLUMNS.values() for name in names} | {"turns"}
  origin = {"source": "parquet", "path": path.name}
  number = 0
  try:
    with pyarrow.parquet.ParquetFile(path) as file:
      names = [n for n in file.schema_arrow.names if n in known]
      for batch in file.iter_batches(_ROWS_AT_ONCE, columns=names):
        for row in batch.to_pylist():
          number += 1
          yield from _of_row(row, {**origin, "row": number}, tasks)
  except (pyarrow.ArrowException, UnicodeDecodeError, OSError) as error:
    text = str(error).partition("\n")[0]
    yield Malformed({**origin, "row": number + 1}, f"not Parquet: {text}")


def _of_file(path: pathlib.Path, root: pathlib.Path, tasks) -> Row:
  origin = {"source": "folder", "path": str(path.relative_to(root))}
  try:
    text = path.read_text()
  except (UnicodeDecodeError, OSError) as error:
    return Malformed(origin, f"not text: {error}")
  said = _TASK_LINE.match(text)
  stem = re.sub(r"_\d+$", "", path.stem)
  names = [said.group(1)] if said else [path.stem, stem, path.parent.name]
  for name in names:
    if name in tasks:
      return _candidate(name, "", text, origin)
  return Malformed(origin, f"no task is named {names[0]!r}")


def _of_row(row: Any, origin: dict, tasks) -> Iterator[Row]:
  """One row, or one for each turn of a rollout."""
  if not isinstance(row, Mapping):
    yield Malformed(origin, f"expected an object, got {type(row).__name__}")
  elif isinstance(row.get("turns"), list):
    for turn, said in enumerate(row["turns"], 1):
      said = said if isinstance(said, Mapping) else {}
      whole = {"task": row.get("task"), "kernel": said.get("source")}
      yield _of_columns(whole, {**origin, "turn": turn}, tasks)
  else:
    if "sample" in row:
      origin = {**origin, "sample": row["sample"]}
    yield _of_columns(row, origin, tasks)


def _of_columns(row: Mapping, origin: dict, tasks) -> Row:
  kernel = _first(row, "kernel")
  if kernel is None:
    return Malformed(origin, f"no kernel: expected {_names('kernel')}")
  name, reference = _first(row, "task"), _first(row, "reference")
  if name in tasks:
    return _candidate(name, "", kernel, origin)
  module = _module(reference or "")
  if module:
    return _candidate("", module, kernel, origin)
  if name is not None:
    return Malformed(origin, f"no task is named {name!r:.80}")
  if reference is not None:
    return Malformed(origin, "no class Model in the reference")
  return Malformed(
    origin, f"no task: expected {_names('task')} or {_names('reference')}"
  )


def _candidate(name: str, module: str, text: str, origin: dict) -> Row:
  """The kernel is taken out of an answer that has text around it."""
  if len(text) > _MOST_CHARACTERS:
    return Malformed(origin, f"longer than {_MOST_CHARACTERS} characters")
  try:
    (text + module).encode()
  except UnicodeEncodeError as error:  # Halves of surrogates.
    return Malformed(origin, f"no text: {error.reason}")
  extract = kernelbench_prompts.extract if module else prompts.extract
  kernel = extract(text)
  if "__global__" not in kernel:
    kernel = ""
  return Candidate(name, module, kernel, origin)


def _module(text: str) -> str:
  """The last block with a Model in a prompt, or the text itself."""
  blocks = [b for b in _FENCE.findall(text) if _MODEL.search(b)]
  if blocks:
    return blocks[-1]
  return text if _MODEL.search(text) else ""


def _first(row: Mapping, part: str) -> str | None:
  """The first column of that part that holds some text."""
  for name in COLUMNS[part]:
    value = row.get(name)
    if isinstance(value, str) and value.strip():
      return value
  return None


def _names(part: str) -> str:
  return " or ".join(COLUMNS[part])
