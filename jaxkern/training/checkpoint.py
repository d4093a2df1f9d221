"""Checkpoints that a SIGKILL cannot spoil."""

import os
import pathlib
from typing import TypeVar

import orbax.checkpoint as ocp

State = TypeVar("State")


class Checkpoints:
  """Numbered states in a directory; a context manager.

  A state appears whole or not at all. Saving returns when it is on disk, so
  that a killed run loses at most the step it was in.
  """

  def __init__(self, directory: str | os.PathLike, keep: int = 2) -> None:
    """Opens or makes the directory; the oldest states above `keep` go."""
    self._manager = ocp.CheckpointManager(
      pathlib.Path(directory).absolute(),
      options=ocp.CheckpointManagerOptions(max_to_keep=keep),
    )

  def save(self, step: int, state: State) -> None:
    """Stores the state after `step` steps."""
    self._manager.save(step, args=ocp.args.StandardSave(state))
    self._manager.wait_until_finished()

  def restore(self, like: State, step: int | None = None) -> tuple[int, State]:
    """The latest step and its state; (0, like) if there is none.

    Args:
      like: a state of the same structure, shapes and dtypes.
      step: one of the states kept, instead of the latest.
    """
    step = self._manager.latest_step() if step is None else step
    if not step:
      return 0, like
    return step, self._manager.restore(
      step, args=ocp.args.StandardRestore(like)
    )

  @staticmethod
  def latest(directory: str | os.PathLike) -> int:
    """The latest step in a directory; 0 if there is none."""
    directory = pathlib.Path(directory)
    if not directory.exists():
      return 0
    with Checkpoints(directory) as checkpoints:
      return checkpoints._manager.latest_step() or 0

  def __enter__(self) -> "Checkpoints":
    """Returns itself."""
    return self

  def __exit__(self, *_: object) -> None:
    """Closes the files."""
    self._manager.close()
