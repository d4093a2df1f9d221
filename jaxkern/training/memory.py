"""What a step takes of a device's memory, known before it is run.

Asked of XLA, which has planned it when a step is compiled. The compiled step is
kept, so that the question costs nothing if the step is run.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax


class Need(NamedTuple):
  """Bytes of a device, while a step runs.

  Attributes:
    arguments: parameters, optimiser state and inputs.
    results: those that take no argument's place.
    temporary: activations, gradients, caches.
  """

  arguments: int
  results: int
  temporary: int


def need(step: Callable, *args: Any, **options: Any) -> Need:
  """What a jitted or pmapped step takes with these arguments."""
  plan = step.lower(*args, **options).compile().memory_analysis()
  return Need(
    plan.argument_size_in_bytes,
    plan.output_size_in_bytes - plan.alias_size_in_bytes,
    plan.temp_size_in_bytes,
  )


def limit() -> int | None:
  """What JAX may have of a device; None where nobody knows, as on a CPU."""
  return (jax.local_devices()[0].memory_stats() or {}).get("bytes_limit")


def check(
  what: str,
  found: Need,
  limit: int,
  *,
  besides: int = 0,
  say: Callable[[str], None] = print,
) -> None:
  """Says what a step takes.

  Args:
    what: the step is called.
    found: its need.
    limit: bytes of the device.
    besides: bytes that are there while it runs and are not its own.
    say: prints the line.

  Raises:
    ValueError: the device has less.
  """
  total = sum(found) + besides
  line = (
    f"{total / 1e9:.2f} GB (arguments {found.arguments / 1e9:.2f}, results "
    f"{found.results / 1e9:.2f}, temporary {found.temporary / 1e9:.2f}, "
    f"besides {besides / 1e9:.2f})"
  )
  if total > limit:
    raise ValueError(
      f"memory: {what}: expected at most {limit / 1e9:.2f} GB, got {line}; "
      "fewer rows at once (microbatch, rows), model.remat, shorter completions "
      "or, on several devices, shard_optimizer need less"
    )
  say(f"memory: {what}: {line} of {limit / 1e9:.2f} GB")
