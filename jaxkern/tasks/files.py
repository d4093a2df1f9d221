"""Tasks of other people: a path wherever a task's name is accepted.

  my_task.py            one or more `define`d tasks: --task=my_task.py, or
                        --task=my_task.py:NAME if it has several
  problems.jsonl:NAME   an object a line: the arguments of `define`
  definition.json       a definition of flashinfer-bench
  folder                all of these that it holds, and of flashinfer-bench's
                        folder `definitions`: --task=folder:NAME

A file is executed: read it first. (A definition is, too, but in a worker.)
"""

import json
import pathlib
import runpy

from jaxkern.tasks import flashinfer
from jaxkern.tasks.define import define
from jaxkern.tasks.task import Task

_KNOWN = (".py", ".jsonl", ".json")


def is_path(name: str) -> bool:
  """Whether this can only be a file or folder, since no task is named so."""
  return "/" in name or name.partition(":")[0].endswith(_KNOWN)


def load(name: str) -> Task:
  """The task of 'path' or 'path:name'.

  Raises:
    ValueError: no such file, none or several tasks, or what `define` says.
  """
  path, _, wanted = name.partition(":")
  if wanted and pathlib.Path(path).is_dir():
    if found := flashinfer.find(path, wanted):
      return found
  tasks = all_of(path)
  if wanted:
    tasks = [task for task in tasks if task.name == wanted]
  if len(tasks) != 1:
    known = ", ".join(task.name for task in all_of(path)[:8]) or "none"
    raise ValueError(
      f"task: {path}: expected one task, or its name behind a colon; this has"
      f" {known}"
    )
  return tasks[0]


def all_of(path: str) -> list[Task]:
  """Every task in a file, or in the files of a folder."""
  place = pathlib.Path(path)
  if place.is_dir():
    found = sorted(p for p in place.iterdir() if p.suffix in (".py", ".jsonl"))
    # Beside a definition, lines are its workloads.
    definitions = {p.stem for p in place.glob("*.json")}
    found = [p for p in found if p.suffix == ".py" or p.stem not in definitions]
    tasks = [task for p in found for task in all_of(str(p))]
    return tasks + flashinfer.all_of(place)[0]
  if not place.is_file():
    raise ValueError(f"task: expected a file or folder, got {path}")
  if place.suffix == ".py":
    return _of_python(place)
  if place.suffix == ".jsonl":
    return _of_lines(place)
  if place.suffix == ".json":
    return [flashinfer.load(place)]
  raise ValueError(f"task: expected a .py, .jsonl or .json file, got {path}")


def _of_python(path: pathlib.Path) -> list[Task]:
  values = runpy.run_path(str(path)).values()
  tasks = []
  for value in values:
    several = value if isinstance(value, list | tuple) else [value]
    if isinstance(value, Task):
      several = [value]
    tasks += [t for t in several if isinstance(t, Task)]
  return list({task.name: task for task in tasks}.values())


def _of_lines(path: pathlib.Path) -> list[Task]:
  tasks = []
  for k, line in enumerate(path.read_text().splitlines(), 1):
    if not line.strip():
      continue
    try:
      problem = json.loads(line)
      tasks.append(define(**problem))
    except (TypeError, ValueError) as error:
      raise ValueError(f"{path}:{k}: {error}") from error
  return tasks
