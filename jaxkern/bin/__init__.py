"""Command-line programs; nothing imports them."""

import ast
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn

from absl import app, flags, logging


def run(
  main: Callable[[Sequence[str]], None], positional: bool = False
) -> None:
  """Runs `main` under absl; a user's mistake becomes one line and exit code 2.

  A ValueError or OSError is the user's fault by jaxkern's convention (a wrong
  name, an unwritable directory) and prints as `error: ...`. Anything else is a
  defect of ours and keeps its traceback. Arguments that are no flags are
  refused, unless `positional`.
  """

  def guarded(argv: Sequence[str]) -> None:
    """Runs main; what it refuses is said in one line."""
    # At absl's own default JAX reports every backend it lacks, and Orbax each
    # file that it opens.
    if not flags.FLAGS["verbosity"].present:
      logging.set_verbosity(logging.WARNING)
    try:
      if len(argv) > 1 and not positional:
        raise ValueError(f"unexpected arguments: {' '.join(argv[1:])}")
      main(argv)
    except BrokenPipeError:  # The reader, e.g. `head`, has seen enough.
      os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
      # The system's own complaints are a number and a name in quotes.
      system = isinstance(error, OSError) and error.filename is not None
      text = f"{error.filename}: {error.strerror}" if system else str(error)
      _refuse(" ".join(text.split()))

  app.run(guarded, flags_parser=_parse)


def _parse(argv: Sequence[str]) -> list[str]:
  """Reads the flags; a config's own complaint is its last line."""
  try:
    return flags.FLAGS(argv)
  except (flags.Error, ValueError, LookupError, AttributeError, OSError) as e:
    lines = str(e.args[0] if e.args else e).strip().splitlines()
    _refuse(_unquoted(lines[-1].strip()) if lines else type(e).__name__)


def _unquoted(text: str) -> str:
  """A KeyError's message arrives as a literal, line breaks escaped."""
  try:
    return " ".join(str(ast.literal_eval(text)).split())
  except (ValueError, SyntaxError):
    return text


def _refuse(message: str) -> NoReturn:
  print(f"error: {message}", file=sys.stderr)
  sys.exit(2)
