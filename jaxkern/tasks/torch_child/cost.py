"""What a problem costs at given sizes, and smaller sizes that fit a budget.

Nothing is computed for it: forward runs on fake tensors, which have shapes and
no contents. FLOPs are products' and convolutions' by torch's own counter plus
one per element that any operation writes; bytes are what every operation
writes, with inputs and parameters.
"""

import time
from typing import NamedTuple

import torch
from torch._subclasses.fake_tensor import (
  DataDependentOutputException,
  FakeTensorMode,
)
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from jaxkern.tasks.torch_child import constants, problem


class Cost(NamedTuple):
  """Of one forward.

  Attributes:
    flops: see above.
    bytes: what has to be moved at least once: inputs, parameters, outputs.
    traffic: bytes that all operations write, inputs and parameters added.
    terms: of the longest sum in it.
  """

  flops: int
  bytes: int
  traffic: int
  terms: int


class _Count(TorchDispatchMode):
  def __init__(self):
    super().__init__()
    self.flops = self.traffic = 0
    self.terms = 1

  def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    out = func(*args, **(kwargs or {}))
    made = _tensors(out)
    written = sum(t.numel() for t in made)
    flops = written
    counter = flop_registry.get(func._overloadpacket)
    if counter is not None and made:
      flops = int(counter(*args, **(kwargs or {}), out_val=out))
      self.terms = max(self.terms, flops // max(2 * made[0].numel(), 1))
    elif made and "cum" in func._overloadpacket.__name__:
      self.terms = max(self.terms, *made[0].shape)
    elif made:
      read = max((t.numel() for t in _tensors(args)), default=0)
      self.terms = max(self.terms, read // max(written, 1))
    self.flops += flops
    self.traffic += sum(t.numel() * t.element_size() for t in made)
    return out


def _tensors(value) -> list[torch.Tensor]:
  if isinstance(value, torch.Tensor):
    return [value]
  if isinstance(value, list | tuple):
    return [t for item in value for t in _tensors(item)]
  return []


def measure(source: str, values: dict[str, int]) -> Cost:
  """The cost at these sizes. Raises whatever the problem raises."""
  fake = FakeTensorMode(allow_non_fake_inputs=True)
  with torch.no_grad():
    try:
      with fake:
        model = problem.make(problem.load(source, values), "Model", 0)
    except DataDependentOutputException:  # E.g. linspace(...).item().
      model = problem.make(problem.load(source, values), "Model", 0)
  with fake, torch.no_grad():
    names = problem.load(source, values)
    given = problem.inputs(names, 0)
    with _Count() as count:
      returned = problem.outputs(model(*given))
  state = [*model.parameters(), *model.buffers(), *_tensors(given)]
  held = sum(t.numel() * t.element_size() for t in state)
  out = sum(t.numel() * t.element_size() for t in returned)
  return Cost(count.flops, held + out, held + count.traffic, count.terms)


class Budget(NamedTuple):
  """The most that a problem at reduced sizes may cost."""

  flops: int
  traffic: int

  def excess(self, cost: Cost) -> float:
    """Above 1 the budget is exceeded."""
    return max(cost.flops / self.flops, cost.traffic / self.traffic)


def reduce(
  source: str, budget: Budget, seconds: float
) -> tuple[dict[str, int], Cost, str]:
  """Sizes that fit the budget: (changed places, cost, why it does not fit).

  The largest size is halved, again and again, as long as the problem still runs
  and gets cheaper. A size that may not be halved alone may be with the others
  of the same value (a number of features that is stated twice).
  """
  sizes = {s.place: s.value for s in constants.find(source) if s.value >= 4}
  values = dict(sizes)
  cost = measure(source, {})
  refused: set[frozenset] = set()
  deadline = time.monotonic() + seconds
  last = ""
  while budget.excess(cost) > 1:
    if time.monotonic() > deadline:
      last = last or "time is up"
      break
    for move in _moves(values, refused):
      trial = {p: v // 2 if p in move else v for p, v in values.items()}
      try:
        found = measure(source, trial)
      except Exception as error:
        last = _line(error)
        found = None
      if found and budget.excess(found) < budget.excess(cost):
        values, cost = trial, found
        break
      refused.add(move)
      if time.monotonic() > deadline:
        break
    else:
      break
  changed = {p: v for p, v in values.items() if v != sizes[p]}
  return changed, cost, last if budget.excess(cost) > 1 else ""


def _moves(values: dict[str, int], refused: set[frozenset]):
  """Places to halve together, those of the largest values first."""
  by_value: dict[int, list[str]] = {}
  for place, value in values.items():
    by_value.setdefault(value, []).append(place)
  for value in sorted(by_value, reverse=True):
    if value < 4:
      continue
    places = by_value[value]
    for move in [*([p] for p in places), places]:
      if frozenset(move) not in refused:
        yield frozenset(move)


def _line(error: Exception) -> str:
  lines = str(error).strip().splitlines()
  return f"{type(error).__name__}: {lines[0] if lines else ''}"[:200]
