"""The torch worker: a process that imports torch, so that this one need not.

  with TorchWorker() as worker:
    answer = worker.run({"kind": "measure", "source": text, ...}, directory)

Every job has a process of its own, a deadline, limits on memory and files, and
under Landlock only its own directory to write to; seccomp refuses calls that no
job needs (torch_child's sandbox.py and calls.py say what that does not stop).
"""

import json
import os
import pathlib
import select
import signal
import subprocess
import sys
import threading
import time

from jaxkern.tasks import job_files

_START_S = 300.0  # To import torch, on a machine that is busy.


class TorchWorker:
  """Starts with the first job; jobs of several threads take turns."""

  def __init__(
    self,
    python: str = sys.executable,
    threads: int = 1,
    late_s: float = 20.0,
  ):
    """What it is started with.

    Args:
      python: one that has torch.
      threads: torch's, per job.
      late_s: how long after a job's deadline the worker may still answer.
    """
    self._late_s = late_s
    self._command = [python, "-m", "jaxkern.tasks.torch_child"]
    self._threads = threads
    self._process: subprocess.Popen | None = None
    self._lock = threading.Lock()
    self.version = ""

  def run(
    self, job: dict, directory: str | os.PathLike, timeout_s: float = 60.0
  ) -> dict:
    """The job's result.json; files that it names lie in `directory`.

    A job that ends without one has the status 'timeout' or 'crash', and what it
    printed last as its log; so has one that ends the worker. A worker that
    cannot be told of the job, or has no answer long after its deadline, is
    ended with all that it has started: an 'infra_error'. The next job has a new
    one.
    Status and log are looked through; all else that a candidate may have
    written is for the caller to look through (job_files).

    Raises:
      ValueError: there is no torch.
    """
    directory = pathlib.Path(os.path.abspath(directory))
    directory.mkdir(parents=True, exist_ok=True)
    for name in ("result.json", "job.log", "job.json"):
      (directory / name).unlink(missing_ok=True)
    (directory / "job.json").write_text(json.dumps(job))
    order = {"directory": str(directory), "timeout_s": timeout_s}
    with self._lock:
      try:
        self._start()
        line = self._ask(json.dumps(order), timeout_s + self._late_s)
      except (BrokenPipeError, TimeoutError) as error:
        late = isinstance(error, TimeoutError)
        self._end(late)
        how = "did not answer in time" if late else "died before the job"
        log = f"the torch worker {how}"
        return {"status": "infra_error", "log": log}
    log = job_files.tail(directory, "job.log", 2000)
    if not line:
      log = f"the torch worker died during the job: {log}"
      return {"status": "crash", "log": log}
    answer = json.loads(line)
    if answer["timed_out"]:
      return {"status": "timeout", "log": f"not done after {timeout_s:g} s"}
    try:
      return job_files.result(directory)
    except job_files.Left as error:
      why = f"exit {answer['exit']}: {error}: {log}"
      return {"status": "crash", "log": why}

  def close(self) -> None:
    """Ends the process."""
    with self._lock:
      self._end()

  def __enter__(self) -> "TorchWorker":
    """Returns itself."""
    return self

  def __exit__(self, *exception) -> None:
    """Closes."""
    self.close()

  def _ask(self, order: str, timeout_s: float) -> str:
    """The worker's line about a job; '' if it has died, and it is ended."""
    self._process.stdin.write(order + "\n")
    self._process.stdin.flush()
    line = _line(self._process.stdout.fileno(), timeout_s)
    if not line.endswith("\n"):
      self._end()
      return ""
    return line

  def _start(self) -> None:
    if self._process is not None:
      if self._process.poll() is None:
        return
      self._end()  # It died after its last job.
    self._process = subprocess.Popen(
      self._command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      env={**os.environ, "JAXKERN_TORCH_THREADS": str(self._threads)},
      start_new_session=True,
    )
    hello = _line(self._process.stdout.fileno(), _START_S)
    if not hello:
      stderr = self._process.stderr
      self._end()
      with stderr:
        said = stderr.read().strip().splitlines()
      if any("No module named 'torch'" in line for line in said):
        raise ValueError(
          "torch: not installed; references in torch need the extra [torch]:"
          " pip install jaxkern-cuda[torch]"
        )
      raise ValueError(f"torch: cannot be started: {' '.join(said[-1:])}")
    self.version = json.loads(hello)["torch"]
    # What it says from here on goes nowhere: jobs have logs of their own.
    threading.Thread(target=_drain, args=(self._process,), daemon=True).start()

  def _end(self, late: bool = False) -> None:
    """Of the worker and all that its jobs left; at once if it is late."""
    if self._process is None:
      return
    process, self._process = self._process, None
    if late:
      process.kill()
    try:
      process.stdin.close()
    except BrokenPipeError:  # Of what it was never told.
      pass
    try:
      process.wait(5)
    except subprocess.TimeoutExpired:
      process.kill()
      process.wait()
    _kill_session(process.pid)
    process.stdout.close()


def _line(pipe: int, timeout_s: float) -> str:
  """Reads a line, or what there is before the end; raises TimeoutError.

  By bytes, so that nothing waits in a buffer that poll does not know.
  """
  deadline = time.monotonic() + timeout_s
  poll, text = select.poll(), b""
  poll.register(pipe, select.POLLIN)
  while not text.endswith(b"\n"):
    if not poll.poll(1000 * max(0.0, deadline - time.monotonic())):
      raise TimeoutError
    byte = os.read(pipe, 1)
    if not byte:
      break
    text += byte
  return text.decode(errors="replace")


def _kill_session(leader: int) -> None:
  """Ends what the worker's session still has, until nothing is left."""
  for _ in range(10):  # One may fork while the others are ended.
    members = [
      int(path.name)
      for path in pathlib.Path("/proc").iterdir()
      if path.name.isdigit() and _session(path) == leader
    ]
    for member in members:
      try:
        os.kill(member, signal.SIGKILL)
      except ProcessLookupError:
        pass
    if not members:
      return


def _session(process: pathlib.Path) -> int:
  """The session of one that still runs, else 0."""
  try:
    stat = (process / "stat").read_text(errors="replace")
  except OSError:
    return 0
  state, _, _, session = stat.rpartition(")")[2].split()[:4]
  return 0 if state in "ZX" else int(session)


def _drain(process: subprocess.Popen) -> None:
  with process.stderr:
    for _ in process.stderr:
      pass
