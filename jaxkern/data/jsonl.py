"""JSON lines that survive their writer."""

import json
import os
import pathlib


def read_lines(path: str | os.PathLike) -> list[dict]:
  """The objects in a JSON lines file; none if there is no file.

  A last line without end is what a killed writer leaves: it is cut off, so that
  whoever appends next starts on a line of its own.
  """
  path = pathlib.Path(path)
  if not path.exists():
    return []
  with open(path, "rb+") as file:
    text = file.read()
    whole = text.rfind(b"\n") + 1
    if whole < len(text):
      file.truncate(whole)
  return [json.loads(line) for line in text[:whole].decode().splitlines()]
