"""Steps collected before they are needed, by parameters of bounded age."""

import collections
import concurrent.futures
import threading
from collections.abc import Callable
from typing import Any

import jax

from jaxkern.models.policy import Policy


class Ahead:
  """Calls of `collect` that run up to `staleness` steps early, in order.

  While a step's kernels are compiled and run, the next step's completions are
  sampled: with the parameters there are. Which these are depends on the number
  of the step alone (those of `staleness` steps before it), never on who was
  faster, so that a run can be repeated and resumed. A context manager.
  """

  def __init__(self, collect: Callable[..., Any], staleness: int):
    """With staleness 0 a call is made when its result is taken, in the caller's
    thread."""
    self._collect = collect
    self._pool = None
    if staleness:
      self._pool = concurrent.futures.ThreadPoolExecutor(staleness + 1)
    self._begun: collections.deque = collections.deque()

  def begin(self, *arguments: Any) -> None:
    """Makes a call; whose result `take` gives after those begun before."""
    if self._pool is None:
      self._begun.append(lambda: self._collect(*arguments))
    else:
      self._begun.append(self._pool.submit(self._collect, *arguments).result)

  def take(self) -> Any:
    """The result of the call that was begun first; waits for it."""
    return self._begun.popleft()()

  def __enter__(self) -> "Ahead":
    """Returns itself."""
    return self

  def __exit__(self, *_: object) -> None:
    """Drops what has not begun; what has ends by itself."""
    if self._pool is not None:
      self._pool.shutdown(wait=False, cancel_futures=True)


def in_turns(policy: Policy) -> Policy:
  """The policy, of which one call samples at a time, from whatever thread.

  Two at once would not be faster, and would need the memory of two.
  """
  lock = threading.Lock()

  def sample(*arguments, **options):
    """See `Policy.sample`; waits for the device."""
    with lock:
      return jax.block_until_ready(policy.sample(*arguments, **options))

  def stream(*arguments, **options):
    """See `Policy.stream`."""
    with lock:
      return (yield from policy.stream(*arguments, **options))

  return policy._replace(sample=sample, stream=policy.stream and stream)
