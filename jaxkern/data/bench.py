"""Many candidates judged, a task after the other, with progress.

A task's bundles are written while others are judged (on cuda; on cpu the times
would suffer), and removed after it. Kernels of a task compile side by
side; the evaluator times one at a time.
"""

import collections
import concurrent.futures
import contextlib
import os
import pathlib
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

import tqdm

from jaxkern.data import ahead, judging
from jaxkern.data.judging import Bundles, Settings
from jaxkern.data.sources import Candidate
from jaxkern.evaluator import Evaluator
from jaxkern.evaluator.pairs import Judge
from jaxkern.tasks import facts, suite
from jaxkern.tasks.task import Task
from jaxkern.tasks.torch_worker import TorchWorker

# (pending, all, tasks, settings, workdir, keep, limit_s)
JudgeAll = Callable[..., None]
Keep = Callable[[Candidate, dict], None]


def judge_all(
  pending: Sequence[Candidate],
  total: int,
  tasks: Mapping[str, Task],
  settings: Settings,
  workdir: str | os.PathLike,
  keep: Keep,
  limit_s: float = 0.0,
) -> None:
  """Calls `keep` with each verdict as soon as there is one.

  What failed through no fault of the kernel is not kept, and asked again by the
  next run.

  Raises:
    OSError: `keep` or a bundle cannot write.
    ValueError: the device cannot be used.
  """
  if not pending:
    return
  ends = time.monotonic() + limit_s if limit_s else float("inf")
  scratch = pathlib.Path(workdir) / "scratch"
  lock, kept = threading.Lock(), collections.Counter()
  bar = tqdm.tqdm(
    total=total, initial=total - len(pending), desc="curating", unit="kernel"
  )

  def judge_one(ask: Callable[[Candidate], dict], candidate: Candidate) -> None:
    """Unless the time is over."""
    if time.monotonic() >= ends:
      return
    record = ask(candidate)
    with lock:
      if record["status"] != "infra_error":
        keep(candidate, record)
      kept["right"] += record["stage"] == "done"
      bar.set_postfix_str(f"{kept['right']} right, {_name(candidate)[:32]}")
      bar.update()

  try:
    with bar, Evaluator(settings.device) as evaluator:
      asks = _asks(evaluator, pending, tasks, settings, scratch, ends)
      for ask, group in asks:
        _side_by_side(lambda c, ask=ask: judge_one(ask, c), group)
  finally:
    shutil.rmtree(scratch, ignore_errors=True)


def _side_by_side(judge: Callable[[Candidate], None], group) -> None:
  """In threads; the first that raises ends the others."""
  threads = (os.cpu_count() or 2) + 2
  with concurrent.futures.ThreadPoolExecutor(threads) as pool:
    futures = [pool.submit(judge, candidate) for candidate in group]
    try:
      for future in concurrent.futures.as_completed(futures):
        future.result()
    except BaseException:
      pool.shutdown(wait=False, cancel_futures=True)
      raise


def _asks(
  evaluator, pending, tasks, settings, scratch, ends
) -> Iterator[tuple[Callable[[Candidate], dict], list[Candidate]]]:
  """What judges a group, and the group; cheap tasks first."""
  ours = collections.defaultdict(list)
  pairs = []
  for candidate in pending:
    if candidate.task:
      ours[candidate.task].append(candidate)
    else:
      pairs.append(candidate)
  names = sorted(ours, key=lambda name: (_cost(tasks[name], settings), name))
  for name, bundles in _prepared(names, tasks, settings, scratch, ends):

    def ask(candidate: Candidate, bundles=bundles) -> dict:
      """By the task's bundles."""
      return judging.judge(evaluator, bundles, candidate.kernel, settings)

    yield ask, ours[name]
  if pairs and time.monotonic() < ends:
    with contextlib.ExitStack() as stack:
      try:
        judge = stack.enter_context(_pairs(evaluator, settings, scratch))
      except ValueError as error:  # No torch: others are none the worse.
        tqdm.tqdm.write(f"{len(pairs)} PyTorch rows unjudged: {error}")
        return
      lock = threading.Lock()  # It keeps what it has prepared.

      def ask_pair(candidate: Candidate) -> dict:
        """By the reference; one at a time."""
        with lock:
          return judging.judge_pair(judge, candidate)

      yield ask_pair, pairs


@contextlib.contextmanager
def _pairs(evaluator, settings: Settings, scratch) -> Iterator[Judge]:
  with TorchWorker() as worker:
    yield Judge(
      evaluator,
      worker,
      scratch / "problems",
      device=settings.device,
      repetitions=settings.repetitions,
      run_timeout_s=settings.run_timeout_s,
    )


def _prepared(
  names: Sequence[str], tasks, settings: Settings, scratch, ends: float
) -> Iterator[tuple[str, Bundles]]:
  """Bundles of one task after the other; on cuda others are written ahead."""
  own = list(names)
  if settings.device != "cpu":
    known = {n for s in suite.SETS for n in suite.names(set=s)}
    own = [name for name in names if name not in known]
    workers = max(1, len(os.sched_getaffinity(0)) // 3)
    ours = [name for name in names if name in known]
    with contextlib.closing(
      ahead.bundles(ours, settings, scratch, workers)
    ) as found:
      for name, bundles in found:
        yield name, bundles
        if time.monotonic() >= ends:
          return
  for name in own:
    if time.monotonic() >= ends:
      return
    yield name, judging.prepare(tasks[name], settings, scratch / name)
    shutil.rmtree(scratch / name, ignore_errors=True)


def _cost(task: Task, settings: Settings) -> tuple[bool, float]:
  """What a verdict's seconds go by: bytes; naive blocks of models are slow."""
  timed = judging.timed_task(task, settings.sizes)
  return task.level == 3, facts.traffic(timed, timed.cases[0])


def _name(candidate: Candidate) -> str:
  return candidate.task or "PyTorch"
