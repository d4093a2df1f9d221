"""What a task is: a signature, inputs, a reference and a tolerance."""

import types
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

Arrays = Mapping[str, np.ndarray]

C_TYPES = {
  "float32": "float",
  "float16": "__half",
  "bfloat16": "__nv_bfloat16",
  "int32": "int",
  "int64": "int64_t",
  "float64": "double",
  "int8": "int8_t",
  "uint8": "uint8_t",
  "bool": "bool",
}


class Argument(NamedTuple):
  """One argument of `launch`.

  Attributes:
    name: the C++ parameter's name.
    kind: 'input' or 'output' (device pointers), or 'attribute' (by value).
    dtype: numpy's name, one of C_TYPES. Attributes are 'int64', 'float32' or
      'bool'.
    shape: for arrays, each extent as the name of an int64 attribute or a
      number; () for attributes.
  """

  name: str
  kind: str
  dtype: str
  shape: tuple[str | int, ...] = ()


class Baseline(NamedTuple):
  """A kernel that candidates are timed against, like it in signature.

  Attributes:
    source: CUDA C++ text. It is trusted, and may do what candidates may not.
    libraries: what it calls: 'cublas', 'cudnn', 'cub', 'thrust'. Where one is
      missing, the baseline takes no part.
  """

  source: str
  libraries: tuple[str, ...] = ()


class Task(NamedTuple):
  """Something to write a kernel for.

  Attributes:
    name: unique, snake_case.
    level: 1 for a single operation, 2 for a fused pattern, 3 for a block of a
      model.
    family: tasks of a family share an algorithm, e.g. 'row_reduction'.
    split: 'train', 'validation' or 'test'; a policy is trained on the first
      alone.
    summary: one line of mathematics, in jax.numpy terms, for the prompt.
    arguments: in the order of `launch`, without the stream.
    cases: values of all attributes, one mapping per case; awkward sizes first.
    timed: indices into cases of the cases that are timed.
    hidden: like cases, of other sizes: what no training run has seen.
    make_inputs: (rng, attributes) -> input arrays by name.
    reference: (inputs, attributes) -> output arrays by name; jax.numpy.
    tolerance: (attributes) -> (rtol, atol).
    baseline: a naive, verified CUDA C++ kernel; the speedup's denominator. ''
      for none.
    kinds: of inputs beside ordinary ones, from jaxkern.tasks.inputs; every
      evaluation includes all of them.
    probe: (kind, rng, attributes) -> (input arrays by name, (rtol, atol)).
    baselines: further ones by name, timed beside it, which is called 'naive'.
    preparation: of work that a first launch does for later ones (autotuning, a
      plan): 'free', or 'refused' as cheating.
    tags: words to choose tasks by, e.g. 'causal'.
    large: sizes that fill a GPU, like cases.
    exact: (inputs, attributes, dtype='float64') -> the reference's outputs
      before they are rounded, its floats in that dtype.
    flops: (attributes) -> operations, where XLA's count of them is not to be
      believed (loops).
    traffic: (attributes) -> bytes, where not every element is touched once.
  """

  name: str
  level: int
  family: str
  split: str
  summary: str
  arguments: tuple[Argument, ...]
  cases: tuple[Mapping[str, int | float | bool], ...]
  timed: tuple[int, ...]
  hidden: tuple[Mapping[str, int | float | bool], ...]
  make_inputs: Callable[[np.random.Generator, Mapping], Arrays]
  reference: Callable[[Arrays, Mapping], Arrays]
  tolerance: Callable[[Mapping], tuple[float, float]]
  baseline: str
  kinds: tuple[str, ...] = ()
  probe: (
    Callable[
      [str, np.random.Generator, Mapping], tuple[Arrays, tuple[float, float]]
    ]
    | None
  ) = None
  baselines: Mapping[str, Baseline] = types.MappingProxyType({})
  preparation: str = "free"
  tags: tuple[str, ...] = ()
  large: tuple[Mapping[str, int | float | bool], ...] = ()
  exact: Callable[..., Arrays] | None = None
  flops: Callable[[Mapping], float] | None = None
  traffic: Callable[[Mapping], float] | None = None


def with_hidden_sizes(task: Task) -> Task:
  """The task judged on its hidden cases; the last of them is timed."""
  return task._replace(cases=task.hidden, timed=(len(task.hidden) - 1,))


def with_large_sizes(task: Task) -> Task:
  """The task at sizes that fill a GPU; all of them are timed."""
  return task._replace(cases=task.large, timed=tuple(range(len(task.large))))


def signature(task: Task) -> str:
  """The C++ signature of `launch`, on one line, without a body."""
  return launch_signature(task.arguments)


def launch_signature(arguments: tuple[Argument, ...]) -> str:
  """Like `signature`, from the arguments alone."""
  parameters = [parameter(a) for a in arguments] + ["cudaStream_t stream"]
  return f'extern "C" int launch({", ".join(parameters)})'


def parameter(argument: Argument) -> str:
  """One C++ parameter, e.g. 'const float* x'."""
  const = "const " if argument.kind == "input" else ""
  star = "" if argument.kind == "attribute" else "*"
  return f"{const}{C_TYPES[argument.dtype]}{star} {argument.name}"


def shapes(task: Task) -> str:
  """The arrays' shapes on one line, e.g. 'x[rows, cols], y[rows]'."""
  arrays = [a for a in task.arguments if a.kind != "attribute"]
  return ", ".join(f"{a.name}[{', '.join(map(str, a.shape))}]" for a in arrays)


def shape_of(argument: Argument, attributes: Mapping) -> tuple[int, ...]:
  """The argument's extents in numbers."""
  return tuple(attributes.get(e, e) for e in argument.shape)
