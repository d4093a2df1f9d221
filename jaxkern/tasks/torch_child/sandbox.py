"""Shuts a job into its directory with Landlock; what is not there is refused.

Readable: the interpreter, its packages, the system's libraries. Writable: the
job's directory. Not protected against: reading /etc or /proc, using up
processors until the deadline, signals to processes of the same user before
Linux 6.12, and everything where the kernel has no Landlock.
"""

import ctypes
import os
import pathlib
import sys
from collections.abc import Sequence

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_NO_NEW_PRIVS = 38
_READ = 0b1101  # execute, read file, read directory
# Rights by version of the interface, from 1 on.
_RIGHTS = ((1 << 13) - 1, 1 << 13, 1 << 14, 0, 1 << 15)
_READABLE = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/etc", "/proc", "/sys")


class _Ruleset(ctypes.Structure):
  _fields_ = [
    ("files", ctypes.c_uint64),
    ("network", ctypes.c_uint64),
    ("scoped", ctypes.c_uint64),
  ]


class _Beneath(ctypes.Structure):
  _pack_ = 1
  _layout_ = "ms"
  _fields_ = [("access", ctypes.c_uint64), ("parent", ctypes.c_int32)]


def confine(directory: pathlib.Path, writable: Sequence[str] = ()) -> bool:
  """Restricts this process and its children; False without Landlock."""
  libc = ctypes.CDLL(None, use_errno=True)
  version = libc.syscall(_CREATE, None, 0, 1)
  if version < 1:
    return False
  rights = sum(_RIGHTS[:version])
  attributes = _Ruleset(rights, 3 if version >= 4 else 0, 0)
  if version >= 6:
    attributes.scoped = 3
  size = 24 if version >= 6 else 16 if version >= 4 else 8
  ruleset = libc.syscall(_CREATE, ctypes.byref(attributes), size, 0)
  if ruleset < 0:
    return False
  package = pathlib.Path(__file__).parent
  readable = {*_READABLE, sys.prefix, sys.base_prefix, str(package)}
  readable |= {p for p in sys.path if "-packages" in p}
  for path in readable:
    _allow(libc, ruleset, path, _READ & rights)
  for path in (str(directory), *writable):
    _allow(libc, ruleset, path, rights)
  _allow(libc, ruleset, "/dev/null", 0b0110 & rights)
  _allow(libc, ruleset, "/dev/urandom", 0b0100 & rights)
  libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
  confined = libc.syscall(_RESTRICT, ruleset, 0) == 0
  os.close(ruleset)
  return confined


def _allow(libc, ruleset: int, path: str, access: int) -> None:
  try:
    parent = os.open(path, os.O_PATH | os.O_CLOEXEC)
  except OSError:
    return
  rule = _Beneath(access, parent)
  libc.syscall(_ADD, ruleset, 1, ctypes.byref(rule), 0)
  os.close(parent)
