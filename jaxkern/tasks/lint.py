"""What is wrong with a task: answers that should not pass, and do.

`lint` is a pure function of arrays and a reference, and knows nothing of Task:
problems of other benchmarks go through it too. `lint_task` draws a task's
inputs and puts its cases together.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxkern.tasks.compare import wrong
from jaxkern.tasks.task import Arrays, Task

# Below this many elements an answer is right by luck.
LEAST_ELEMENTS = 16
# Of the elements, that must be wrong in a trivial answer.
LEAST_WRONG = 0.02
_MANTISSA = {"tf32": 10, "float16": 10, "bfloat16": 7}


class Findings(NamedTuple):
  """What `lint` found; nothing in a good task.

  Attributes:
    trivial: answers that pass, or nearly: 'zeros', 'copy of x', ...
    idle: inputs that may be replaced without the answer's leaving the
      tolerance.
    precision: precisions ('tf32', 'float16', 'bfloat16') in which the inputs
      may be read, of those that are below both the inputs' and the outputs'.
    unreachable: by which factor float32 arithmetic misses the tolerance; 0 if
      it does not, or was not tried.
    nonfinite: outputs that are expected to have a NaN or an infinity.
  """

  trivial: tuple[str, ...] = ()
  idle: tuple[str, ...] = ()
  precision: tuple[str, ...] = ()
  unreachable: float = 0.0
  nonfinite: tuple[str, ...] = ()

  def lines(self) -> list[str]:
    """For people; [] if there is nothing to say."""
    said = [f"passes: {answer}" for answer in self.trivial]
    said += [f"does not matter: {name}" for name in self.idle]
    said += [f"precision passes: {name}" for name in self.precision]
    if self.unreachable:
      said.append(f"float32 misses the tolerance {self.unreachable:.3g} times")
    return said + [f"NaN or Inf expected: {name}" for name in self.nonfinite]


def lint(
  inputs: Arrays,
  reference: Callable[[Arrays], Arrays],
  tolerance: tuple[float, float],
  *,
  others: Arrays | None = None,
  single: Callable[[Arrays], Arrays] | None = None,
) -> Findings:
  """Looks for what would pass on these inputs and should not.

  Args:
    inputs: arrays by name.
    reference: inputs -> expected outputs by name.
    tolerance: (rtol, atol).
    others: inputs drawn anew, which replace those of `inputs` one by one;
      default: each shuffled.
    single: the reference in float32 arithmetic, to see whether the tolerance
      can be met.
  """
  rtol, atol = tolerance
  expected = reference(inputs)

  def misses(answer: Arrays) -> float:
    """The share of elements that are wrong, of all outputs together."""
    counts = [
      (int(wrong(np.asarray(answer[n]), y, rtol, atol).sum()), y.size)
      for n, y in expected.items()
    ]
    return sum(c for c, _ in counts) / max(1, sum(size for _, size in counts))

  others = others or _shuffled(inputs)
  return Findings(
    trivial=tuple(
      name
      for name, answer in trivial_answers(inputs, expected).items()
      if misses(answer) < LEAST_WRONG
    ),
    idle=tuple(
      name
      for name in inputs
      if not misses(reference({**inputs, name: others[name]}))
    ),
    precision=tuple(
      name
      for name in _MANTISSA
      if _lower(name, inputs, expected)
      and not misses(reference(_rounded(inputs, _MANTISSA[name])))
    ),
    unreachable=_excess(single(inputs), expected, rtol, atol) if single else 0,
    nonfinite=tuple(
      name
      for name, y in expected.items()
      if not np.isfinite(y.astype(np.float64)).all()
    ),
  )


def trivial_answers(inputs: Arrays, expected: Arrays) -> dict[str, Arrays]:
  """Answers that need no work, by name; {} for outputs that are too small."""
  if sum(y.size for y in expected.values()) < LEAST_ELEMENTS:
    return {}
  answers = {
    "zeros": _each(expected, np.zeros_like),
    "ones": _each(expected, np.ones_like),
    "mean": _each(expected, _mean),
    "first half": _each(expected, lambda y: _part(y, slice(0, y.size // 2))),
    "every second": _each(expected, lambda y: _part(y, slice(0, None, 2))),
  }
  for name, value in inputs.items():
    fitting = {
      output: value.ravel()[: y.size].reshape(y.shape).astype(y.dtype)
      for output, y in expected.items()
      if value.size >= y.size
    }
    if fitting:  # The best that a copy could do: all else is right.
      answers[f"copy of {name}"] = fitting
  return {
    name: {o: answer.get(o, _part(expected[o], slice(0))) for o in expected}
    for name, answer in answers.items()
  }


def lint_task(
  task: Task, attributes: Mapping | None = None, seed: int = 0
) -> Findings:
  """The same for a task, at one of its cases; default: the timed one."""
  if attributes is None:
    attributes = task.cases[task.timed[-1]]
  draws = [
    task.make_inputs(np.random.default_rng((seed, k)), attributes)
    for k in range(2)
  ]
  single = None
  if task.exact:

    def single(inputs):
      """In float32, but for the outputs' dtypes."""
      return task.exact(inputs, attributes, "float32")

  return lint(
    draws[0],
    lambda inputs: task.reference(inputs, attributes),
    task.tolerance(attributes),
    others=draws[1],
    single=single,
  )


def _each(expected: Arrays, make) -> dict[str, np.ndarray]:
  return {name: make(y) for name, y in expected.items()}


def _mean(y: np.ndarray) -> np.ndarray:
  return np.full_like(y, y.astype(np.float64).mean())


def _part(y: np.ndarray, kept: slice) -> np.ndarray:
  answer = np.zeros_like(y).ravel()
  answer[kept] = y.ravel()[kept]
  return answer.reshape(y.shape)


def _shuffled(inputs: Arrays) -> dict[str, np.ndarray]:
  rng = np.random.default_rng(0)
  return {
    name: rng.permutation(x.ravel()).reshape(x.shape)
    for name, x in inputs.items()
  }


def _floats(inputs: Arrays) -> list[np.ndarray]:
  return [x for x in inputs.values() if x.dtype.kind not in "iub"]


def _lower(name: str, inputs: Arrays, expected: Arrays) -> bool:
  """Whether it is less than what the inputs and the outputs have."""
  if not _floats(inputs):
    return False
  floats = _floats(inputs) + _floats(expected)
  return _MANTISSA[name] < min(jnp.finfo(x.dtype).nmant for x in floats)


def _rounded(inputs: Arrays, bits: int) -> dict[str, np.ndarray]:
  """Floats with so many bits of mantissa, to nearest."""
  rounded = {}
  for name, x in inputs.items():
    if x.dtype.kind not in "iub":
      mantissa, exponent = np.frexp(x.astype(np.float64))
      scale = 2.0 ** (bits + 1)
      x = np.ldexp(np.round(mantissa * scale) / scale, exponent).astype(x.dtype)
    rounded[name] = x
  return rounded


def _excess(got: Arrays, expected: Arrays, rtol: float, atol: float) -> float:
  """By which factor the worst element misses the tolerance; 0 if none does."""
  worst = 0.0
  for name, y in expected.items():
    answer = np.asarray(got[name]).astype(y.dtype)
    where = wrong(answer, y, rtol, atol)
    if where.any():
      wide = y[where].astype(np.float64)
      error = np.abs(answer[where].astype(np.float64) - wide)
      allowed = np.maximum(atol + rtol * np.abs(wide), 1e-300)
      worst = max(worst, float(np.nan_to_num(error / allowed, nan=1e9).max()))
  return worst
