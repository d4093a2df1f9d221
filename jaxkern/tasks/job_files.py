"""What a job of the torch worker left behind, read as a stranger's.

A candidate's code ran in the job's process: it may have written any name into
its result, and anything under a name. So a name is that of a file in the job's
directory, without a path; the file is a regular one, no link to another and
no pipe; and it is as large as it may be. Whatever else is there is a `Left`.
"""

import io
import json
import math
import os
import pathlib
import stat
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

DTYPES = (
  "float32",
  "float64",
  "float16",
  "bfloat16",
  "int32",
  "int64",
  "int8",
  "uint8",
  "bool",
)
_STATUSES = ("ok", "unsupported", "extract_error", "compile_error")
_STATUSES += ("runtime_error", "infra_error")
MOST_RESULT = 16 << 20
MOST_ARRAYS = 8 << 30  # Of all arrays that one candidate leaves.
_MOST_LOG = 8000
_MOST_HEADER = 4096  # Of an .npy file.


class Left(Exception):
  """A job left something else than it has to; the message says what."""


def result(directory: pathlib.Path) -> dict[str, Any]:
  """The job's result.json: a status, and a log unless the status is 'ok'."""
  with _open(directory, "result.json", MOST_RESULT) as file:
    text = file.read(MOST_RESULT)
  try:
    made = json.loads(text)
  except (ValueError, RecursionError):
    raise Left("result.json is no JSON") from None
  if not isinstance(made, dict) or made.get("status") not in _STATUSES:
    raise Left("result.json is no object with a status that jobs have")
  if made["status"] != "ok":
    if not isinstance(made.get("log"), str):
      raise Left("result.json has no log")
    made["log"] = made["log"][:_MOST_LOG]
  return made


def tail(directory: pathlib.Path, name: str, most: int) -> str:
  """The end of a text file; '' if there is no such file."""
  try:
    with _open(directory, name, MOST_ARRAYS) as file:
      file.seek(-min(most, file.seek(0, io.SEEK_END)), io.SEEK_END)
      return file.read(most).decode(errors="replace")
  except Left:
    return ""


def check_entry(entry: Any) -> int:
  """Sees that it is {'file', 'dtype', 'shape'}; the array's bytes."""
  if not isinstance(entry, dict):
    raise Left("an array is no object")
  file, dtype, shape = (entry.get(k) for k in ("file", "dtype", "shape"))
  if not isinstance(file, str) or dtype not in DTYPES:
    raise Left("an array has no file or no dtype")
  if not isinstance(shape, list) or not all(
    type(n) is int and 0 <= n <= MOST_ARRAYS for n in shape
  ):
    raise Left("an array has no shape")
  return math.prod(shape) * _stored(dtype).itemsize


def load(directory: pathlib.Path, entry: Any) -> np.ndarray:
  """The array of an entry, as stored: bfloat16 in uint16.

  Raises:
    Left: the file is not what the entry says.
  """
  size = check_entry(entry)
  name, shape = entry["file"], tuple(entry["shape"])
  form = np.lib.format
  with _open(directory, name, size + _MOST_HEADER) as file:
    try:
      if form.read_magic(file) != (1, 0):
        raise ValueError("version")
      found, by_columns, dtype = form.read_array_header_1_0(file)
    except Exception:  # Whatever a header can make of NumPy's parser.
      raise Left(f"{name} is no array") from None
    if (found, dtype, by_columns) != (shape, _stored(entry["dtype"]), False):
      raise Left(f"{name} is not the array that the result tells of")
    if os.fstat(file.fileno()).st_size - file.tell() != size:
      raise Left(f"{name} is not as long as its array")
    array = np.fromfile(file, dtype, math.prod(shape))
  if array.nbytes != size:
    raise Left(f"{name} was cut while it was read")
  return array.reshape(shape)


def check_total(entries: Sequence[Any]) -> None:
  """Sees that all of them are entries and together not too large."""
  if sum(map(check_entry, entries)) > MOST_ARRAYS:
    raise Left(f"arrays of more than {MOST_ARRAYS >> 30} GiB")


def _stored(dtype: str) -> np.dtype:
  return np.dtype("uint16" if dtype == "bfloat16" else dtype)


def _open(directory: pathlib.Path, name: str, most: int) -> BinaryIO:
  if name != os.path.basename(name) or name in ("", ".", "..") or "\0" in name:
    raise Left("a file's name has a path")
  flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
  try:
    file = os.fdopen(os.open(directory / name, flags), "rb")
  except (OSError, UnicodeError):
    raise Left(f"{name!r} is no regular file") from None
  about = os.fstat(file.fileno())
  if stat.S_ISREG(about.st_mode) and about.st_size <= most:
    return file
  file.close()
  raise Left(f"{name!r} is no regular file of at most {most} bytes")
