"""Configs: kept with a run, so that it can only be continued as itself, and
functions that they choose by name."""

import functools
import inspect
import json
import os
import pathlib
from collections.abc import Callable, Mapping
from typing import Any


def keep(config: dict[str, Any], directory: str | os.PathLike) -> None:
  """Stores a config as config.json in a run's directory, made if missing.

  Args:
    config: plain values, e.g. ConfigDict.to_dict().
    directory: of the run.

  Raises:
    ValueError: the directory holds a run of another config; says where the two
      differ.
    OSError: the directory cannot be written.
  """
  directory = pathlib.Path(directory)
  directory.mkdir(parents=True, exist_ok=True)
  path = directory / "config.json"
  wanted = json.loads(json.dumps(config))
  if path.exists():
    stored = json.loads(path.read_text())
    different = _differences(stored, wanted)
    if different:
      raise ValueError(
        f"workdir: {directory} holds a run of another config ("
        f"{'; '.join(different[:3])}); choose another workdir"
      )
    return
  temporary = path.with_suffix(".tmp")
  temporary.write_text(json.dumps(wanted, indent=2) + "\n")
  temporary.rename(path)


def choose(
  what: str, table: Mapping[str, Callable], name: str, **options: Any
) -> Callable:
  """A function of a table, its keyword-only parameters bound to options.

  Args:
    what: is chosen, for the message.
    table: functions by name.
    name: of one.
    options: all of its keyword-only parameters.

  Raises:
    ValueError: unknown name, or options other than the function's own.
  """
  if name not in table:
    raise ValueError(f"{what}: expected one of {', '.join(table)}, got {name}")
  parameters = inspect.signature(table[name]).parameters.values()
  wanted = sorted(p.name for p in parameters if p.kind is p.KEYWORD_ONLY)
  if sorted(options) != wanted:
    raise ValueError(
      f"{what} {name}: expected the options {wanted}, got {sorted(options)}"
    )
  return functools.partial(table[name], **options)


def _differences(stored: Any, wanted: Any, name: str = "") -> list[str]:
  if isinstance(stored, dict) and isinstance(wanted, dict):
    return [
      difference
      for key in sorted({*stored, *wanted})
      for difference in _differences(
        stored.get(key), wanted.get(key), f"{name}.{key}".lstrip(".")
      )
    ]
  if stored == wanted:
    return []
  return [f"{name}: there {stored}, asked for {wanted}"]
