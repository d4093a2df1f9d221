"""CUDA C++ kernels in, verdicts out: the Python face of csrc/.

  with Evaluator(device='cpu') as evaluator:
    results = evaluator.evaluate([Request(task, source) for source in sources])

  async with Evaluator() as evaluator:
    results = await evaluator.aevaluate([Request(task, source)])

  result = evaluate(task, source)  # one kernel, an evaluator that is kept

What a kernel does wrong is a `Result.status`; what the caller does wrong is a
ValueError. docs/evaluator.md lists the statuses and the fields of a Result.
"""

import asyncio
import atexit
import hashlib
import os
import pathlib
import queue
import secrets
import shutil
import tempfile
import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from jaxkern import _core
from jaxkern._core import Result
from jaxkern.evaluator import show
from jaxkern.tasks.bundle import write_bundle
from jaxkern.tasks.task import Task

__all__ = ["Evaluator", "Request", "Result", "evaluate"]

Result.__repr__ = show.short
Result.__str__ = show.long

_open: "weakref.WeakSet[Evaluator]" = weakref.WeakSet()


class Request(NamedTuple):
  """A kernel to judge.

  Attributes:
    task: a Task, or the directory of a problem bundle.
    source: the kernel's CUDA C++ text, or one in torch's form
      (docs/torch_form.md).
    repetitions: samples per timed case, up to 1000; 0 checks only. Fewer are
      taken once the median is known to 1 %.
    compile_timeout_s: seconds for the compilation.
    run_timeout_s: seconds for all cases and repetitions together.
    flush: timed launches find the cache emptied.
    fresh_process: in a process of its own, which on cuda others would share.
    diagnose: if the kernel runs and fails, look for its fault and say so in
      `Result.diagnosis`.
    rules: judge by the rules about cheating, too. Without them 'ok' means what
      it does to a harness that compares one launch and believes its clock.
    seed: decides which of the bundle's inputs are used; 0 for the evaluator's
      choice. Only a replay has a reason to set it.
  """

  task: Task | str | os.PathLike
  source: str
  repetitions: int = 0
  compile_timeout_s: float = 60.0
  run_timeout_s: float = 20.0
  flush: bool = True
  fresh_process: bool = False
  diagnose: bool = False
  rules: bool = True
  seed: int = 0


class Evaluator:
  """Compiles, runs, checks and times kernels in child processes.

  May be used from several threads and event loops. `close`, or leaving the
  context, kills the children; so does the end of this process, even by SIGKILL.
  """

  def __init__(
    self,
    device: str = "cpu",
    *,
    compile_workers: int = 0,
    run_workers: int = 1,
    cache_dir: str | os.PathLike = "",
    compiler: str = "",
    memory_bytes: int = 0,
    max_queued: int = 4096,
    explain_misses: bool = False,
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
      memory_bytes: of a worker: address space on cpu, GPU memory that must be
        free on cuda; 0 for 4 GiB and 256 MiB per core on cpu, no limit on cuda.
      max_queued: requests that wait for a compiler. With more, `submit` and
        `evaluate` wait themselves; 0 for never.
      explain_misses: say in `Result.cache_miss` why a build was not in the
        cache; takes time.
      seed: of the inputs that tasks are given, and of which of them a kernel
        meets, so that a verdict repeats to the letter. None for secrets: the
        cache directory's own, drawn when it was first used, and fresh bits.

    Raises:
      ValueError: unknown or unusable device, no compiler, a cache directory
        that cannot be written, or more memory than there is.
    """
    cache_dir = _core.cache_directory(os.fspath(cache_dir))
    self._bundles = pathlib.Path(cache_dir) / "bundles"
    self._seed = seed
    self._repeats = seed is not None
    self._known: dict[int, tuple[Task, str]] = {}
    self._core = _core.Evaluator(
      device=device,
      compile_workers=compile_workers,
      run_workers=run_workers,
      cache_dir=cache_dir,
      compiler=compiler,
      memory_bytes=memory_bytes,
      max_queued=max_queued,
      explain_misses=explain_misses,
    )
    self._awaited: set[asyncio.Future] = set()
    _open.add(self)

  def evaluate(self, requests: Iterable[Request]) -> list[Result]:
    """Results in the order of the requests; equal requests run once.

    Of an iterator, e.g. of what is still being sampled, those that it has given
    are judged while it makes the next. A list is looked at before any is.

    Raises:
      ValueError: a malformed bundle or request.
    """
    if not isinstance(requests, Sequence):
      return self._evaluate_early(requests)
    return self._core.evaluate([self._translate(r) for r in requests])

  def submit(self, request: Request) -> int:
    """Queues a request and returns its ticket. Raises like `evaluate`."""
    return self._core.submit(self._translate(request))

  def next(self, timeout_s: float | None = None) -> tuple[int, Result] | None:
    """The next finished submission as (ticket, result), in that order.

    None after `timeout_s` seconds, or when nothing is pending.
    """
    return self._core.next(-1.0 if timeout_s is None else max(timeout_s, 0.0))

  def asubmit(self, request: Request) -> "asyncio.Task[Result]":
    """Queues a request; awaiting what is returned gives its result.

    To be called in a running event loop, which goes on meanwhile. A task that
    is cancelled, e.g. by `asyncio.timeout`, takes its request out of the queue.
    The task raises like `evaluate`, and ValueError if the evaluator is closed
    before.
    """
    return asyncio.get_running_loop().create_task(self._judge(request))

  async def aevaluate(self, requests: Sequence[Request]) -> list[Result]:
    """As `evaluate`, without keeping the event loop."""
    tasks = [self.asubmit(r) for r in requests]
    try:
      return await asyncio.gather(*tasks)
    finally:
      for task in tasks:
        task.cancel()  # Those that are done do not mind.

  def describe(self) -> str:
    """One line: device, compiler, cache, and the protections in force."""
    return self._core.describe()

  def stats(self) -> dict[str, int | float | str]:
    """What the machinery has been through since the start, and its queues now.

    Stats in docs/evaluator.md says what each number is; 'out_of_service' has
    the reason, '' while the device works.
    """
    return self._core.stats()

  def close(self) -> None:
    """Abandons what is in flight and kills every child."""
    self._core.close()
    closed = ValueError("the evaluator is closed")
    for future in list(self._awaited):
      _settle(future, exception=closed)

  def __enter__(self) -> "Evaluator":
    """Returns itself."""
    return self

  def __exit__(self, *exception) -> None:
    """Closes."""
    self.close()

  async def __aenter__(self) -> "Evaluator":
    """Returns itself."""
    return self

  async def __aexit__(self, *exception) -> None:
    """Closes."""
    await asyncio.to_thread(self.close)

  def _evaluate_early(self, requests: Iterable[Request]) -> list[Result]:
    finished: queue.SimpleQueue[tuple[int, Result]] = queue.SimpleQueue()
    places: dict[tuple, int] = {}  # Of the first of equal requests.
    order, tickets = [], []
    results: dict[int, Result] = {}
    try:
      for request in requests:
        key = self._key(request)
        if key not in places:
          place = places[key] = len(places)
          tickets.append(
            self._core.submit_then(
              _core.Request(*key),
              lambda result, place=place: finished.put((place, result)),
            )
          )
        order.append(places[key])
      while len(results) < len(places):
        try:
          place, result = finished.get(timeout=0.5)
        except queue.Empty:
          self._core.describe()  # Raises if another thread has closed it.
        else:
          results[place] = result
    except BaseException:
      for ticket in tickets:
        self._core.abandon(ticket)
      raise
    return [results[place] for place in order]

  async def _judge(self, request: Request) -> Result:
    future = asyncio.get_running_loop().create_future()
    # In a thread, since a task that is new has its bundle written, and its
    # arrays are read.
    submitting = asyncio.ensure_future(
      asyncio.to_thread(
        lambda: self._core.submit_then(
          self._translate(request), lambda result: _settle(future, result)
        )
      )
    )
    self._awaited.add(future)
    try:
      await asyncio.shield(submitting)
      return await future
    except asyncio.CancelledError:
      submitting.add_done_callback(self._abandon)
      raise
    finally:
      self._awaited.discard(future)

  def _abandon(self, submitted: "asyncio.Future[int]") -> None:
    if not submitted.cancelled() and submitted.exception() is None:
      self._core.abandon(submitted.result())

  def _translate(self, request: Request) -> _core.Request:
    return _core.Request(*self._key(request))

  def _key(self, request: Request) -> tuple:
    """The fields of the core's request; equal ones have one result."""
    bundle = self._bundle(request.task)
    if self._repeats and not request.seed:
      text = f"{self._seed} {pathlib.Path(bundle).name} {request.source}"
      digest = hashlib.sha256(text.encode(errors="replace")).digest()
      request = request._replace(seed=int.from_bytes(digest[:8]) | 1)
    return (bundle, *request[1:])

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


def evaluate(
  task: Task | str | os.PathLike, source: str, device: str = "cpu", **options
) -> Result:
  """The verdict on one kernel, by an evaluator that is kept for the next call.

  Args:
    task: a Task, or the directory of a problem bundle.
    source: the kernel's CUDA C++ text.
    device: 'cpu' or 'cuda'. Each has its evaluator, started by its first call
      and closed when the process ends.
    **options: further fields of Request, e.g. repetitions=20.

  Raises:
    ValueError: as Evaluator and Evaluator.evaluate.
  """
  with _lock:
    evaluator = _shared.get(device)
    if evaluator is None:
      evaluator = _shared[device] = Evaluator(device)
  return evaluator.evaluate([Request(task, source, **options)])[0]


_shared: dict[str, Evaluator] = {}
_lock = threading.Lock()


def _forget_shared() -> None:
  """A forked process has neither the threads nor the children of its parent."""
  global _lock
  _lock = threading.Lock()
  _shared.clear()


def _close_all() -> None:
  """Nothing must call back into an interpreter that has ended."""
  for evaluator in list(_open):
    evaluator.close()


os.register_at_fork(after_in_child=_forget_shared)
atexit.register(_close_all)


def _settle(future, result=None, exception=None) -> None:
  """Ends a future from any thread, unless it has ended or its loop has."""

  def settle():
    """Runs in the future's own loop."""
    if future.done():
      return
    if exception is None:
      future.set_result(result)
    else:
      future.set_exception(exception)

  try:
    future.get_loop().call_soon_threadsafe(settle)
  except RuntimeError:  # The loop is closed: nobody waits.
    pass


def _publish(task: Task, bundles: pathlib.Path, seed: int) -> str:
  """Writes a bundle under a name that its contents determine."""
  bundles.mkdir(parents=True, exist_ok=True)
  made = pathlib.Path(tempfile.mkdtemp(prefix=".new-", dir=bundles))
  try:
    write_bundle(task, made, seed)
    digest = hashlib.sha256()
    for path in sorted(made.iterdir()):
      digest.update(f"{path.name} {path.stat().st_size}\n".encode())
      with path.open("rb") as file:
        while piece := file.read(1 << 20):
          digest.update(piece)
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
