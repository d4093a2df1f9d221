"""Numbers of a run: metrics.jsonl and TensorBoard events."""

import json
import os
import pathlib
from collections.abc import Mapping

import tensorboardX

from jaxkern.data.jsonl import read_lines

_FILE = "metrics.jsonl"


def read(path: str | os.PathLike) -> list[dict]:
  """The lines of a metrics.jsonl; none if there is no file."""
  return read_lines(path)


class Metrics:
  """Writes numbers by stage and step; a context manager."""

  def __init__(
    self, workdir: str | os.PathLike, resume: Mapping[str, int]
  ) -> None:
    """Opens the files of a run.

    Args:
      workdir: made if missing; metrics.jsonl and events/ lie there.
      resume: by stage, the step it will write next. Lines of that step or a
        later one were written by a run that was killed before its checkpoint,
        and are dropped.
    """
    workdir = pathlib.Path(workdir)
    workdir.mkdir(parents=True, exist_ok=True)
    path = workdir / _FILE
    kept = [x for x in read(path) if x["step"] < resume.get(x["stage"], 0)]
    temporary = path.with_suffix(".tmp")
    temporary.write_text("".join(json.dumps(x) + "\n" for x in kept))
    temporary.rename(path)
    self._file = open(path, "a", encoding="utf-8")
    self._events = tensorboardX.SummaryWriter(str(workdir / "events"))

  def write(self, step: int, values: Mapping[str, float], stage: str) -> None:
    """One line, {"stage", "step", **values}, and one event per value."""
    line = {"stage": stage, "step": step, **values}
    self._file.write(json.dumps(line) + "\n")
    self._file.flush()
    for name, value in values.items():
      # TensorBoard allows no "@" in a name.
      self._events.add_scalar(f"{stage}/{name.replace('@', '_')}", value, step)

  def __enter__(self) -> "Metrics":
    """Returns itself."""
    return self

  def __exit__(self, *_: object) -> None:
    """Closes the files."""
    self._file.close()
    self._events.close()
