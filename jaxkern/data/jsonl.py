"""JSON lines that survive their writer."""

import json
import os
import pathlib


def read_lines(path: str | os.PathLike) -> list[dict]:
  """The objects in a JSON lines file; none if there is no file.

  A last line without end is what a killed writer leaves, or one that is just
  being written: it is left out.
  """
  path = pathlib.Path(path)
  if not path.exists():
    return []
  text = path.read_bytes()
  whole = text.rfind(b"\n") + 1
  return [json.loads(line) for line in text[:whole].decode().splitlines()]


def cut_unfinished(path: str | os.PathLike) -> None:
  """Cuts off a last line without end, so that the next one is on its own."""
  path = pathlib.Path(path)
  if not path.exists():
    return
  with open(path, "rb+") as file:
    file.truncate(file.read().rfind(b"\n") + 1)
