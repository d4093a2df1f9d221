"""Moves by name: what the built-in proposer can do to a kernel.

A move is written 'name' or 'name:number', a chain of them 'a, b:8'. Chains are
applied to the source that a search began with, so that a number can be changed
without undoing what came after it.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from jaxkern.agent.edits import coarsen, fuse, loops, small, stage, warp
from jaxkern.agent.edits.layout import tidied


class Move(NamedTuple):
  """An edit.

  Attributes:
    apply: (source[, number]) -> another source, or None where it does nothing.
    numbers: those worth trying; () if it takes none.
    thought: why, in words.
  """

  apply: Callable
  numbers: tuple[int, ...]
  thought: str


MOVES = {
  "fuse": Move(fuse.fuse, (), "two kernels in a row become one"),
  "restrict": Move(
    small.restrict, (), "arrays do not overlap: loads may move past stores"
  ),
  "int32": Move(small.int32, (), "32-bit indices divide and multiply faster"),
  "compare": Move(
    small.compare, (), "maxima by comparing, which vector units have"
  ),
  "exponent": Move(
    small.exponent, (), "exponentials in plain arithmetic, side by side"
  ),
  "intrinsic": Move(
    small.intrinsic, (), "the device's fast functions, if accuracy allows"
  ),
  "reuse": Move(loops.reuse, (), "what one loop computed is kept for the next"),
  "reciprocal": Move(loops.reciprocal, (), "one division before the loop"),
  "rows": Move(
    coarsen.rows,
    (8, 16, 32, 4),
    "several outputs of a row per thread: its part is done once",
  ),
  "lanes": Move(
    coarsen.lanes,
    (8, 4, 16, 2),
    "several outputs per thread, side by side",
  ),
  "split": Move(
    loops.split,
    (8, 16, 4, 32),
    "independent partial sums instead of one chain of additions",
  ),
  "stage": Move(
    stage.stage, (), "tiles in shared memory, loaded once and used by many"
  ),
  "warp": Move(warp.warp, (), "a warp per row: neighbours load neighbours"),
  "block": Move(small.block, (64, 256, 32, 512), "another size of blocks"),
  "unroll": Move(loops.unroll, (4, 8), "fewer branches per step"),
}


def steps() -> list[str]:
  """Every move with every number, in a fixed order."""
  return [
    f"{name}:{number}" if number else name
    for name, move in MOVES.items()
    for number in (move.numbers or (0,))
  ]


def parts(step: str) -> tuple[str, int]:
  """('lanes', 8) of 'lanes:8'; ('restrict', 0).

  Raises:
    ValueError: unknown move.
  """
  name, _, number = step.partition(":")
  if name not in MOVES or bool(number) != bool(MOVES[name].numbers):
    raise ValueError(
      f"move: expected one of {', '.join(steps())}, got {step!r}"
    )
  return name, int(number or 0)


def apply(source: str, step: str) -> str | None:
  """The source after a move; None where it does nothing."""
  name, number = parts(step)
  move = MOVES[name]
  made = move.apply(source, number) if number else move.apply(source)
  return None if made in (None, source) else tidied(made)


def apply_all(source: str, chain: Sequence[str]) -> str | None:
  """The source after a chain; None if one of its moves does nothing."""
  for step in chain:
    made = apply(source, step)
    if made is None:
      return None
    source = made
  return source


def applied(source: str, chain: Sequence[str]) -> tuple[str, tuple[str, ...]]:
  """The source after those moves of a chain that do something, and which."""
  done = []
  for step in chain:
    made = apply(source, step)
    if made is not None:
      source = made
      done.append(step)
  return source, tuple(done)


def thought(step: str) -> str:
  """Why one would make a move."""
  return MOVES[parts(step)[0]].thought
