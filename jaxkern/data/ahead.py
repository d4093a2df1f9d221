"""Bundles of tasks written by other processes while one task is judged."""

import collections
import concurrent.futures
import itertools
import multiprocessing
import multiprocessing.connection
import os
import pathlib
import shutil
import threading
from collections.abc import Iterator, Sequence

import jax

from jaxkern.data import judging
from jaxkern.data.judging import Bundles, Settings
from jaxkern.tasks import suite


def bundles(
  names: Sequence[str],
  settings: Settings,
  scratch: pathlib.Path,
  workers: int,
) -> Iterator[tuple[str, Bundles]]:
  """Tasks of ours in order, each with bundles that last until the next.

  References of large arrays take longer on a host than kernels on a GPU. The
  processes end with this one, however it ends.
  """
  context = multiprocessing.get_context("spawn")
  waiting = iter(names)
  writing: collections.deque = collections.deque()
  with concurrent.futures.ProcessPoolExecutor(
    workers, context, initializer=_end_with_parent
  ) as pool:
    try:
      while True:
        for name in itertools.islice(waiting, workers + 1 - len(writing)):
          place = scratch / name
          writing.append((name, pool.submit(_write, name, settings, place)))
        if not writing:
          return
        name, written = writing.popleft()
        yield name, written.result()
        shutil.rmtree(scratch / name, ignore_errors=True)
    finally:
      pool.shutdown(cancel_futures=True)


def _write(name: str, settings: Settings, place: pathlib.Path) -> Bundles:
  """In a process of its own."""
  jax.config.update("jax_platforms", "cpu")
  return judging.prepare(suite.get(name), settings, place)


def _end_with_parent() -> None:
  """A pool's process would wait for ever for one that was killed."""
  parent = multiprocessing.parent_process()

  def watch() -> None:
    """Ends this process."""
    multiprocessing.connection.wait([parent.sentinel])
    os._exit(1)

  threading.Thread(target=watch, daemon=True).start()
