"""Refuses a job system calls with seccomp; each fails with EPERM.

Other processes' memory and descriptors, unshare and setns, mounts, keys,
io_uring (its calls pass no filter), the kernel's programs and counters, and
sockets that are not local: Landlock stops TCP alone. Processes and programs
stay allowed, since extensions are built here; so a new namespace by clone is
not refused. x86-64 only, as the numbers are its own. Not yet tried beside a
GPU's driver.
"""

import ctypes
import errno
import platform

_CALLS = {
  "ptrace": 101,
  "pivot_root": 155,
  "chroot": 161,
  "mount": 165,
  "umount2": 166,
  "init_module": 175,
  "kexec_load": 246,
  "add_key": 248,
  "request_key": 249,
  "keyctl": 250,
  "unshare": 272,
  "perf_event_open": 298,
  "open_by_handle_at": 304,
  "setns": 308,
  "process_vm_readv": 310,
  "process_vm_writev": 311,
  "kcmp": 312,
  "finit_module": 313,
  "bpf": 321,
  "userfaultfd": 323,
  "io_uring_setup": 425,
  "io_uring_enter": 426,
  "io_uring_register": 427,
  "pidfd_getfd": 438,
}
_SOCKET, _AF_UNIX = 41, 1
_X86_64 = 0xC000003E
_X32 = 0x40000000  # Numbers from here on are another name of the same calls.
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_NUMBER, _ARCHITECTURE, _FIRST_ARGUMENT = 0, 4, 16
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVS, _SECCOMP, _FILTER = 38, 22, 2


class _Step(ctypes.Structure):
  _fields_ = [
    ("code", ctypes.c_uint16),
    ("if_so", ctypes.c_uint8),
    ("if_not", ctypes.c_uint8),
    ("operand", ctypes.c_uint32),
  ]


class _Program(ctypes.Structure):
  _fields_ = [("length", ctypes.c_uint16), ("steps", ctypes.POINTER(_Step))]


def refuse() -> bool:
  """For this thread and all it starts; False where there is no such filter."""
  if platform.machine() != "x86_64":
    return False
  steps = _steps()
  program = _Program(len(steps), (_Step * len(steps))(*steps))
  libc = ctypes.CDLL(None, use_errno=True)
  libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0)
  return libc.prctl(_SECCOMP, _FILTER, ctypes.byref(program), 0, 0) == 0


def _steps() -> list[tuple[int, int, int, int]]:
  """Jumps are counts of steps; the last two are the verdicts."""
  calls = [(_EQUAL, number) for number in _CALLS.values()]
  tests = [(_AT_LEAST, _X32), *calls]
  end = 3 + len(tests) + 3  # Where _ALLOW is; the refusal follows it.
  steps = [(_LOAD, 0, 0, _ARCHITECTURE), (_EQUAL, 0, end - 1, _X86_64)]
  steps.append((_LOAD, 0, 0, _NUMBER))
  for code, operand in tests:
    steps.append((code, end - len(steps), 0, operand))
  steps.append((_EQUAL, 0, end - len(steps) - 1, _SOCKET))
  steps.append((_LOAD, 0, 0, _FIRST_ARGUMENT))
  steps.append((_EQUAL, 0, 1, _AF_UNIX))
  steps.append((_RETURN, 0, 0, _ALLOW))
  steps.append((_RETURN, 0, 0, _ERROR | errno.EPERM))
  return steps
