"""The worker's loop: a job's directory per line in, one JSON line out.

A job is a directory with job.json, {'kind': ..., ...}; its process leaves
result.json there, {'status': 'ok', ...} or {'status': ..., 'log': ...}, and
.npy files. stdout and stderr of the job go to job.log.
"""

import json
import os
import pathlib
import resource
import select
import signal
import sys
import tempfile
import time

import torch

from jaxkern.tasks.torch_child import calls, jobs, sandbox

_MOST_FILE = 8 << 30


def main() -> None:
  """Serves until stdin ends."""
  torch.set_num_threads(int(os.environ.get("JAXKERN_TORCH_THREADS", "1")))
  answers = os.fdopen(os.dup(1), "w")
  os.dup2(2, 1)  # What torch prints must not pass for an answer.
  print(json.dumps({"torch": torch.__version__}), file=answers, flush=True)
  for line in sys.stdin:
    order = json.loads(line)
    directory = pathlib.Path(order["directory"])
    answer = _serve(directory, order["timeout_s"], answers.fileno())
    print(json.dumps(answer), file=answers, flush=True)


def _serve(directory: pathlib.Path, timeout_s: float, answers: int) -> dict:
  child = os.fork()
  if child == 0:
    os.close(answers)  # Only the worker answers.
    _job(directory)
  deadline = time.monotonic() + timeout_s
  handle = os.pidfd_open(child)
  try:
    ended, _, _ = select.select(
      [handle], [], [], max(0, deadline - time.monotonic())
    )
  finally:
    os.close(handle)
  try:  # All that it has started, too.
    os.killpg(child, signal.SIGKILL)
  except ProcessLookupError:
    pass
  if not ended:
    os.kill(child, signal.SIGKILL)
  _, status = os.waitpid(child, 0)
  return {
    "timed_out": not ended,
    "exit": os.waitstatus_to_exitcode(status),
  }


def _job(directory: pathlib.Path) -> None:
  """Never returns."""
  code = 1
  try:
    os.setpgid(0, 0)
    log = os.open(
      directory / "job.log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
    )
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.close(0)
    job = json.loads((directory / "job.json").read_text())
    os.chdir(directory)
    os.environ["HOME"] = os.environ["TMPDIR"] = str(directory)
    tempfile.tempdir = None  # Asks TMPDIR anew.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_MOST_FILE, _MOST_FILE))
    if job.get("memory_bytes"):
      most = job["memory_bytes"] + _mapped()
      resource.setrlimit(resource.RLIMIT_AS, (most, most))
    sandbox.confine(directory, job.get("writable", ()))
    calls.refuse()
    jobs.run(job, directory)
    code = 0
  except BaseException:
    import traceback

    traceback.print_exc()
  finally:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _mapped() -> int:
  """Bytes of address space that torch's libraries have taken already."""
  pages = int(pathlib.Path("/proc/self/statm").read_text().split()[0])
  return pages * resource.getpagesize()


if __name__ == "__main__":
  main()
