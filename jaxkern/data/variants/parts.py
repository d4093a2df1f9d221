"""What all optimised kernels are put together from: types, names, launches."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from jaxkern.tasks.task import C_TYPES, Task, launch_signature, parameter

HEADERS = {
  "float16": "#include <cuda_fp16.h>\n",
  "bfloat16": "#include <cuda_bf16.h>\n",
}
_LOADS = {
  "float32": "{}",
  "float16": "__half2float({})",
  "bfloat16": "__bfloat162float({})",
  "int32": "{}",
}
_STORES = {
  "float16": "__float2half({})",
  "bfloat16": "__float2bfloat16({})",
  "float32": "{}",
  "int32": "{}",
}
BYTES = {
  "float32": 4,
  "int32": 4,
  "float16": 2,
  "bfloat16": 2,
  "int8": 1,
  "uint8": 1,
}


class Look(NamedTuple):
  """How a kernel is written down, whatever it does.

  Attributes:
    index: 'int' or 'int64_t', of the kernel's own indices.
    name: of the kernel.
    restrict: pointers are __restrict__.
    comment: a line says how the work is divided.
    unroll: inner loops carry a pragma.
    bounds: the kernel has __launch_bounds__.
    ceil: rounded-up quotients come from a helper function.
    constants: extents are constexpr names, and not numbers in the text.
  """

  index: str
  name: str
  restrict: bool
  comment: bool
  unroll: bool
  bounds: bool
  ceil: bool
  constants: bool


def look(rng: np.random.Generator, name: str) -> Look:
  """A random one; `name` says what the kernel does."""
  return Look(
    index=pick(rng, ("int", "int", "int64_t")),
    name=pick(rng, ("kernel", f"{name}_kernel", f"{name}_op", f"fast_{name}")),
    restrict=rng.random() < 0.5,
    comment=rng.random() < 0.4,
    unroll=rng.random() < 0.6,
    bounds=rng.random() < 0.3,
    ceil=rng.random() < 0.3,
    constants=rng.random() < 0.5,
  )


def pick(rng: np.random.Generator, options: Sequence):
  """One of them."""
  return options[int(rng.integers(len(options)))]


def dtypes(task: Task) -> dict[str, str]:
  """The arrays' dtypes by name."""
  return {a.name: a.dtype for a in task.arguments if a.kind != "attribute"}


def load(dtype: str, text: str) -> str:
  """An element as the float or int to compute with."""
  return _LOADS.get(dtype, "{}").format(text)


def store(dtype: str, text: str) -> str:
  """A computed value as the array's type."""
  return _STORES.get(dtype, f"({C_TYPES[dtype]})({{}})").format(text)


def parameters(task: Task, style: Look, extra: Sequence[str] = ()) -> str:
  """The kernel's parameter list; sizes have the style's type."""
  texts = []
  for argument in task.arguments:
    text = parameter(argument)
    if argument.kind != "attribute" and style.restrict:
      text = text.replace("* ", "* __restrict__ ")
    elif argument.dtype == "int64":
      text = f"{style.index} {argument.name}"
    texts.append(text)
  return ", ".join([*texts, *extra])


def arguments(task: Task, extra: Sequence[str] = ()) -> str:
  """The same names in a call."""
  return ", ".join([*(a.name for a in task.arguments), *extra])


def quotient(style: Look, a: str, b: str | int) -> str:
  """a / b, rounded up."""
  if style.ceil:
    return f"ceil_div({a}, {b})"
  if isinstance(b, int):
    return f"({a} + {b - 1}) / {b}"
  return f"({a} + {b} - 1) / {b}"


def pragma(style: Look) -> list[str]:
  """The unroll pragma, where the style has it."""
  return ["#pragma unroll"] if style.unroll else []


def kernel(
  task: Task,
  style: Look,
  body: Sequence[str],
  threads: int | str,
  template: str = "",
  suffix: str = "",
  extra: Sequence[str] = (),
) -> str:
  """A __global__ function with the task's parameters."""
  bounds = f" __launch_bounds__({threads})" if style.bounds else ""
  head = f"template <{template}>\n" if template else ""
  lines = "\n".join(indented(body))
  return (
    f"{head}__global__ void{bounds} {style.name}{suffix}("
    f"{parameters(task, style, extra)}) {{\n{lines}\n}}\n"
  )


def unit(
  task: Task, style: Look, device: str, launch: Sequence[str], note: str = ""
) -> str:
  """The translation unit; `launch` is the host's statements."""
  used = {a.dtype for a in task.arguments}
  text = "".join(h for dtype, h in HEADERS.items() if dtype in used)
  text += "\n" if text else ""
  lines = "\n".join(indented([*launch, "return cudaGetLastError();"]))
  if style.comment and note:
    device = f"// {note}\n{device}"
  if "ceil_div(" in lines + device:
    device = (
      "__host__ __device__ inline int64_t ceil_div(int64_t a, int64_t b) {\n"
      "  return (a + b - 1) / b;\n}\n\n" + device
    )
  return f"{text}{device}\n{launch_signature(task.arguments)} {{\n{lines}\n}}\n"


def indented(lines: Sequence[str]) -> list[str]:
  """Two spaces for each open brace; pragmas too. One statement a line."""
  depth, found = 1, []
  for block in lines:
    for line in block.splitlines():
      line = line.strip()
      if not line:
        continue
      closes = len(re.match(r"[})]*", line).group())
      found.append("  " * max(depth - closes, 0) + line)
      depth += line.count("{") - line.count("}")
  return found


_ELEMENT = re.compile(r"(\w+)\[([^][]*)\]")


def elements(text: str, types: Mapping[str, str]) -> str:
  """A text whose elements of arrays are converted where they are read."""

  def replace(match: re.Match) -> str:
    """The element as a number."""
    known = types.get(match.group(1))
    return load(known, match.group()) if known else match.group()

  return _ELEMENT.sub(replace, text)
