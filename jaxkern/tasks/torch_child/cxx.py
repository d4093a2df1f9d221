"""The C++ that a trace is written down as."""

import math
import re
from collections.abc import Iterable

import torch

from jaxkern.tasks.torch_child.problem import Unfit

_ENTRY = "jaxkern_forward"


def alias(base: torch.Tensor, tensor: torch.Tensor) -> bool:
  """Whether they are the same memory, whole and in the same order."""
  return (
    base.data_ptr() == tensor.data_ptr()
    and base.numel() == tensor.numel()
    and base.dtype == tensor.dtype
    and base.is_contiguous()
    and tensor.is_contiguous()
  )


def alias_text(base: torch.Tensor, made: torch.Tensor) -> str | None:
  """What turns `base` into `made` without touching data; None if nothing."""
  if (
    base.data_ptr() != made.data_ptr()
    or base.numel() != made.numel()
    or base.dtype != made.dtype
  ):
    return None
  if base.shape == made.shape and base.stride() == made.stride():
    return ""
  if not base.is_contiguous():
    return None
  if made.is_contiguous():
    return f".view({sizes(made.shape)})"
  order = sorted(range(made.dim()), key=lambda d: -made.stride(d))
  extents = [made.shape[d] for d in order]
  if not made.permute(order).is_contiguous():
    return None
  back = sorted(range(made.dim()), key=lambda d: order[d])
  return f".view({sizes(extents)}).permute({sizes(back)})"


def sizes(values) -> str:
  """{1, 2}"""
  return "{" + ", ".join(str(int(s)) for s in values) + "}"


def real(value: float) -> str:
  """A literal."""
  if math.isinf(value):
    return "-INFINITY" if value < 0 else "INFINITY"
  if math.isnan(value):
    return "NAN"
  return repr(value)


def dtype(dtype: torch.dtype) -> str:
  """torch::kFloat32, ...; raises Unfit if there is none."""
  names = {
    torch.float32: "kFloat32",
    torch.float64: "kFloat64",
    torch.float16: "kFloat16",
    torch.bfloat16: "kBFloat16",
    torch.int32: "kInt32",
    torch.int64: "kInt64",
    torch.int8: "kInt8",
    torch.uint8: "kUInt8",
    torch.bool: "kBool",
  }
  if dtype not in names:
    raise Unfit("unsupported", f"forward makes a tensor of {dtype}")
  return f"torch::{names[dtype]}"


def unit(
  extensions: Iterable,
  order: list[str],
  notes: list[str],
  returned: list[str],
) -> str:
  """The extensions' texts and one function that does what forward does."""
  parts = ["#include <torch/extension.h>"]
  for extension in extensions:
    parts += extension.cuda
    parts += [t for t in extension.cpp if "{" in t or not extension.cuda]
  result = returned[0]
  if len(returned) > 1:
    result = "std::vector<torch::Tensor>{" + ", ".join(returned) + "}"
  lines = _plain([*notes, f"return {result};"])
  if any("jaxkern_element" in line for line in lines):
    parts.append(_ELEMENTS)
  parameters = ", ".join(f"torch::Tensor {name}" for name in order)
  body = "\n".join("  " + line for line in lines)
  parts.append(
    f"auto {_ENTRY}({parameters}) {{\n{body}\n}}\n"
    f"PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {{\n"
    f'  m.def("{_ENTRY}", &{_ENTRY});\n}}\n'
  )
  return "\n".join(parts)


_ELEMENTS = """
template <size_t k, class T>
T jaxkern_element(const std::vector<T>& all) { return all.at(k); }
template <size_t k, class... T>
auto jaxkern_element(const std::tuple<T...>& all) { return std::get<k>(all); }
"""


def _plain(lines: list[str]) -> list[str]:
  """The notes as C++; a call's result has a name if it is used."""
  out = []
  for k, line in enumerate(lines):
    if line.startswith("JAXKERN_RESULT("):
      name, _, call = line[len("JAXKERN_RESULT(") : -2].partition(", ")
      later = "\n".join(lines[k + 1 :])
      used = re.search(rf"\b{name}\b", later)
      line = f"auto {name} = {call};" if used else f"{call};"
    out.append(line)
  return out
