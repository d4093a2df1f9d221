"""The corpus: candidates in torch's form, with the verdicts they must get.

The first lines of each are comments: `task: NAME`, and of wrong ones `expect:
STATUS` and `log: TEXT`, which the log contains.
"""

import pathlib
import re
from typing import NamedTuple

DIRECTORY = pathlib.Path(__file__).parent


class Candidate(NamedTuple):
  name: str
  source: str
  task: str
  status: str
  log: str


def _field(source: str, name: str, default: str) -> str:
  found = re.search(rf"^(?:#|//) {name}: (.*)$", source, re.MULTILINE)
  return found[1] if found else default


def read(folder: str) -> list[Candidate]:
  """All candidates of `corpus` or `wrong`, by name."""
  made = []
  for path in sorted((DIRECTORY / folder).glob("*.*")):
    source = path.read_text()
    made.append(
      Candidate(
        path.stem,
        source,
        _field(source, "task", ""),
        _field(source, "expect", "ok"),
        _field(source, "log", ""),
      )
    )
  return made
