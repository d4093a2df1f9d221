"""CUDA C++ kernels in, verdicts out: the Python face of csrc/.

  with Evaluator(device='cpu') as evaluator:
    results = evaluator.evaluate([Request(task, source) for source in sources])

What a kernel does wrong is a `Result.status`; what the caller does wrong is a
ValueError. docs/evaluator.md lists the statuses and the fields of a Result.
"""

import hashlib
import os
import pathlib
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from typing import NamedTuple

from jaxkern import _core
from jaxkern._core import Result
from jaxkern.tasks.bundle import write_bundle
from jaxkern.tasks.task import Task

__all__ = ["Evaluator", "Request", "Result"]


class Request(NamedTuple):
  """A kernel to judge.

  Attributes:
    task: a Task, or the directory of a problem bundle.
    source: the kernel's CUDA C++ text.
    repetitions: samples per timed case, up to 1000; 0 checks only. Fewer are
      taken once the median is known to 1 %.
    compile_timeout_s: seconds for the compilation.
    run_timeout_s: seconds for all cases and repetitions together.
    flush: timed launches find the cache emptied.
    seed: decides which of the bundle's inputs are used; 0 for fresh bits. Only
      a replay has a reason to set it.
  """

  task: Task | str | os.PathLike
  source: str
  repetitions: int = 0
  compile_timeout_s: float = 60.0
  run_timeout_s: float = 20.0
  flush: bool = True
  seed: int = 0


class Evaluator:
  """Compiles, runs, checks and times kernels in child processes.

  May be used from several threads. `close`, or leaving the context, kills the
  children; so does the end of this process, even by SIGKILL.
  """

  def __init__(
    self,
    device: str = "cpu",
    *,
    compile_workers: int = 0,
    run_workers: int = 1,
    cache_dir: str | os.PathLike = "",
    compiler: str = "",
    seed: int | None = None,
  ):
    """Starts the workers.

    Args:
      device: 'cpu' or 'cuda'.
      compile_workers: compilers at once; 0 for one per core.
      run_workers: candidates run at once.
      cache_dir: for builds and bundles; '' for $JAXKERN_CACHE, else
        ~/.cache/jaxkern.
      compiler: nvcc, or the host compiler for the cpu device; '' to find it.
      seed: of the inputs that tasks are given; None for the cache directory's
        own, a secret drawn when it was first used.

    Raises:
      ValueError: unknown or unusable device, no compiler, or a cache directory
        that cannot be written.
    """
    cache_dir = _core.cache_directory(os.fspath(cache_dir))
    self._bundles = pathlib.Path(cache_dir) / "bundles"
    self._seed = seed
    self._known: dict[int, tuple[Task, str]] = {}
    self._core = _core.Evaluator(
      device=device,
      compile_workers=compile_workers,
      run_workers=run_workers,
      cache_dir=cache_dir,
      compiler=compiler,
    )

  def evaluate(self, requests: Sequence[Request]) -> list[Result]:
    """Results in the order of the requests; equal requests run once.

    Raises:
      ValueError: a malformed bundle or request.
    """
    return self._core.evaluate([self._translate(r) for r in requests])

  def submit(self, request: Request) -> int:
    """Queues a request and returns its ticket. Raises like `evaluate`."""
    return self._core.submit(self._translate(request))

  def next(self, timeout_s: float | None = None) -> tuple[int, Result] | None:
    """The next finished submission as (ticket, result), in that order.

    None after `timeout_s` seconds, or when nothing is pending.
    """
    return self._core.next(-1.0 if timeout_s is None else max(timeout_s, 0.0))

  def describe(self) -> str:
    """One line: device, compiler and where it was found, cache."""
    return self._core.describe()

  def close(self) -> None:
    """Abandons what is in flight and kills every child."""
    self._core.close()

  def __enter__(self) -> "Evaluator":
    """Returns itself."""
    return self

  def __exit__(self, *exception) -> None:
    """Closes."""
    self.close()

  def _translate(self, request: Request) -> _core.Request:
    return _core.Request(self._bundle(request.task), *request[1:])

  def _bundle(self, task: Task | str | os.PathLike) -> str:
    """A directory with the task's bundle, written once per process."""
    if not isinstance(task, Task):
      return os.fspath(task)
    if id(task) not in self._known:
      if self._seed is None:
        self._seed = _secret_seed(self._bundles)
      # The task is kept, so that its id stays its own.
      self._known[id(task)] = (task, _publish(task, self._bundles, self._seed))
    return self._known[id(task)][1]


def _secret_seed(bundles: pathlib.Path) -> int:
  """The directory's secret, drawn if it has none."""
  bundles.mkdir(parents=True, exist_ok=True)
  path = bundles / ".secret"
  if not path.exists():
    file, made = tempfile.mkstemp(prefix=".new-", dir=bundles)  # Mode 0600.
    with os.fdopen(file, "w") as stream:
      stream.write(str(secrets.randbits(63)))
    try:
      os.link(made, path)  # Whole or not at all, and never over another.
    except FileExistsError:
      pass
    finally:
      os.unlink(made)
  return int(path.read_text())


def _publish(task: Task, bundles: pathlib.Path, seed: int) -> str:
  """Writes a bundle under a name that its contents determine."""
  bundles.mkdir(parents=True, exist_ok=True)
  made = pathlib.Path(tempfile.mkdtemp(prefix=".new-", dir=bundles))
  try:
    write_bundle(task, made, seed)
    digest = hashlib.sha256()
    for path in sorted(made.iterdir()):
      digest.update(f"{path.name} {path.stat().st_size}\n".encode())
      digest.update(path.read_bytes())
    target = bundles / f"{task.name}-{digest.hexdigest()[:16]}"
    if not target.exists():
      try:
        made.rename(target)
      except OSError:  # Another process was faster.
        if not target.exists():
          raise
    return str(target)
  finally:
    shutil.rmtree(made, ignore_errors=True)
