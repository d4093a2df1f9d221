"""The torch worker: a process that imports torch, so that this one need not.

  with TorchWorker() as worker:
    answer = worker.run({"kind": "measure", "source": text, ...}, directory)

Every job has a process of its own, a deadline, limits on memory and files, and
under Landlock only its own directory to write to (torch_child/sandbox.py says
what that does not protect against).
"""

import json
import os
import pathlib
import subprocess
import sys
import threading

_START_S = 300.0


class TorchWorker:
  """Starts with the first job; jobs of several threads take turns."""

  def __init__(self, python: str = sys.executable, threads: int = 1):
    """`python` is one that has torch; `threads` are torch's, per job."""
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
    printed last as its log.

    Raises:
      ValueError: there is no torch.
    """
    directory = pathlib.Path(os.path.abspath(directory))
    directory.mkdir(parents=True, exist_ok=True)
    result = directory / "result.json"
    result.unlink(missing_ok=True)
    (directory / "job.json").write_text(json.dumps(job))
    with self._lock:
      self._start()
      order = {"directory": str(directory), "timeout_s": timeout_s}
      self._process.stdin.write(json.dumps(order) + "\n")
      self._process.stdin.flush()
      line = self._process.stdout.readline()
      if not line:
        self._end()
        raise RuntimeError("the torch worker has died")
    answer = json.loads(line)
    if answer["timed_out"]:
      log = f"not done after {timeout_s:g} s"
      return {"status": "timeout", "log": log}
    if not result.exists():
      log = (directory / "job.log").read_text(errors="replace")[-2000:]
      return {"status": "crash", "log": f"exit {answer['exit']}: {log}"}
    return json.loads(result.read_text())

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

  def _start(self) -> None:
    if self._process is not None:
      return
    self._process = subprocess.Popen(
      self._command,
      stdin=subprocess.PIPE,
      stdout=subprocess.PIPE,
      stderr=subprocess.PIPE,
      text=True,
      env={**os.environ, "JAXKERN_TORCH_THREADS": str(self._threads)},
      start_new_session=True,
    )
    hello = self._process.stdout.readline()
    if not hello:
      with self._process.stderr:
        said = self._process.stderr.read().strip().splitlines()
      self._end()
      if any("No module named 'torch'" in line for line in said):
        raise ValueError(
          "torch: not installed; references in torch need the extra [torch]:"
          " pip install jaxkern-cuda[torch]"
        )
      raise ValueError(f"torch: cannot be started: {' '.join(said[-1:])}")
    self.version = json.loads(hello)["torch"]
    # What it says from here on goes nowhere: jobs have logs of their own.
    threading.Thread(target=_drain, args=(self._process,), daemon=True).start()

  def _end(self) -> None:
    if self._process is None:
      return
    process, self._process = self._process, None
    process.stdin.close()
    try:
      process.wait(5)
    except subprocess.TimeoutExpired:
      process.kill()
      process.wait()
    process.stdout.close()


def _drain(process: subprocess.Popen) -> None:
  with process.stderr:
    for _ in process.stderr:
      pass
