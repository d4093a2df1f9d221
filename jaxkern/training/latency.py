"""Simulated seconds of verification: what a slower sandbox would cost.

Where a compiler takes a minute, the gate pays; where it takes a tenth of a
second, sampling and updates are all there is. The model: W verifiers, each of
which takes L seconds for a kernel and begins when there is one. A turn that is
sampled in S seconds and has N distinct kernels takes max(S + L, ceil(N / W) L).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from jaxkern.rollout.collect import Evaluate


def seconds(
  kernels: int, sampling: float, latency_s: float, verifiers: int
) -> float:
  """What a turn takes of N kernels that are sampled in so many seconds."""
  if not kernels:
    return sampling
  rounds = -(-kernels // verifiers)
  return max(sampling + latency_s, rounds * latency_s)


def check(latency_s: float, verifiers: int) -> None:
  """Raises ValueError if there is no such sandbox."""
  if latency_s < 0 or verifiers < 1:
    raise ValueError(
      "simulated: expected latency_s >= 0 and verifiers >= 1, got "
      f"{latency_s:g} and {verifiers}"
    )


def delayed(
  evaluate: Evaluate,
  latency_s: float,
  verifiers: int,
  sleep: Callable[[float], None] = time.sleep,
) -> Evaluate:
  """The same verdicts, after at least the simulated seconds.

  Args:
    evaluate: the verdicts; its own time counts.
    latency_s: L.
    verifiers: W.
    sleep: waits.

  Raises:
    ValueError: see `check`.
  """
  check(latency_s, verifiers)
  if not latency_s:
    return evaluate

  def slower(pairs: Iterable[tuple[Any, str]]) -> Any:
    """Counts the distinct kernels on their way."""
    seen: set[tuple[str, str]] = set()
    begun = last = time.monotonic()

    def watched() -> Iterator[tuple[Any, str]]:
      """The pairs."""
      nonlocal last
      for task, source in pairs:
        seen.add((task.name, source))
        last = time.monotonic()
        yield task, source

    results = evaluate(watched())
    wanted = seconds(len(seen), last - begun, latency_s, verifiers)
    sleep(max(0.0, begun + wanted - time.monotonic()))
    return results

  return slower
