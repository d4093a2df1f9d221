"""The evaluator's lock on a device, for what else is timed there.

The same as csrc/core/device_lock.cc takes: an flock on a file that all
processes of the host know, named by what the worker calls the device.
"""

import contextlib
import fcntl
import hashlib
import os
import pathlib
from collections.abc import Iterator
from typing import NamedTuple

from jaxkern.evaluator import Evaluator
from jaxkern.tasks.torch_worker import TorchWorker

_FLAGS = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW


def path(evaluator: Evaluator) -> pathlib.Path:
  """Where the lock of its device lies."""
  device = evaluator.describe().partition("; ")[0]
  name = hashlib.sha256(device.encode()).hexdigest()[:16]
  return pathlib.Path(f"/tmp/jaxkern-device-{name}.lock")


@contextlib.contextmanager
def held(evaluator: Evaluator) -> Iterator[None]:
  """Waits until nothing is timed on its device; nothing is while it lasts.

  Where no such file can be made, it locks nothing.
  """
  file = _open(path(evaluator))
  try:
    if file is not None:
      fcntl.flock(file, fcntl.LOCK_EX)
    yield
  finally:
    if file is not None:
      os.close(file)


class Alone(NamedTuple):
  """A torch worker whose jobs run while nothing is timed on the device."""

  worker: TorchWorker
  evaluator: Evaluator

  def run(
    self, job: dict, directory: str | os.PathLike, timeout_s: float = 60.0
  ) -> dict:
    """As the worker's; what it waits for the device is not its time."""
    with held(self.evaluator):
      return self.worker.run(job, directory, timeout_s)


def _open(place: pathlib.Path) -> int | None:
  """Everybody may hold it; another user's is opened without O_CREAT only."""
  with contextlib.suppress(OSError):
    return os.open(place, _FLAGS)
  with contextlib.suppress(OSError):
    file = os.open(place, _FLAGS | os.O_CREAT, 0o644)
    with contextlib.suppress(OSError):
      os.fchmod(file, 0o644)  # Whatever the umask says.
    return file
  return None
