"""Command-line programs; nothing imports them."""

import logging
import os
import sys
from collections.abc import Callable, Sequence

from absl import app


def run(main: Callable[[Sequence[str]], None]) -> None:
  """Runs `main` under absl; a user's mistake becomes one line and exit code 2.

  A ValueError or OSError is the user's fault by jaxkern's convention (a wrong
  name, an unwritable directory) and prints as `error: ...`. Anything else is a
  defect of ours and keeps its traceback.
  """

  def guarded(argv: Sequence[str]) -> None:
    try:
      if len(argv) > 1:
        raise ValueError(f"unexpected arguments: {' '.join(argv[1:])}")
      main(argv)
    except BrokenPipeError:  # The reader, e.g. `head`, has seen enough.
      os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
      message = " ".join(str(error).split())
      print(f"error: {message}", file=sys.stderr)
      sys.exit(2)

  # JAX reports every backend it lacks at absl's default level.
  logging.getLogger("jax._src.xla_bridge").setLevel(logging.WARNING)
  app.run(guarded)
