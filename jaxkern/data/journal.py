"""JSON lines that are appended one by one and outlive whoever writes them."""

import fcntl
import json
import os
import pathlib

from jaxkern.data.jsonl import cut_unfinished, read_lines


class Journal:
  """An append-only file of JSON objects.

  What `append` has returned from is on the disk: a kill costs the line in
  flight, and a full disk not even the file's form, since a line that does not
  fit is taken back whole. May be used from several threads if `append` is
  called under a lock.
  """

  def __init__(self, path: str | os.PathLike):
    """Opens the file, or makes it, and cuts off an unfinished last line.

    Raises:
      ValueError: another process has it open.
    """
    self.path = pathlib.Path(path)
    self.path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_CLOEXEC
    self._file = os.open(self.path, flags, 0o644)
    try:
      fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
      os.close(self._file)
      raise ValueError(f"{self.path}: another process writes it") from None
    cut_unfinished(self.path)

  def read(self) -> list[dict]:
    """All objects, in order."""
    return read_lines(self.path)

  def append(self, record: dict) -> None:
    """Writes one object through to the disk.

    Raises:
      OSError: it cannot be written; the file is as it was.
    """
    rest = (json.dumps(record) + "\n").encode()
    size = os.fstat(self._file).st_size
    try:
      while rest:
        rest = rest[os.write(self._file, rest) :]
      os.fsync(self._file)
    except OSError as error:
      os.ftruncate(self._file, size)
      raise OSError(
        error.errno,
        f"{os.strerror(error.errno)}; what was verified is kept: make room and"
        " run the same command again",
        str(self.path),
      ) from error

  def close(self) -> None:
    """Closes the file."""
    os.close(self._file)

  def __enter__(self) -> "Journal":
    """Returns itself."""
    return self

  def __exit__(self, *exception) -> None:
    """Closes."""
    self.close()
