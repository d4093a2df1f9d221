"""A signature in text and its sizes, as arguments and cases.

'x[rows, k], i:i32[rows], a=0.5 -> y[rows]'
"""

import re
from collections.abc import Callable, Mapping

from jaxkern.tasks.task import Argument

DTYPES = {
  "f32": "float32",
  "f16": "float16",
  "bf16": "bfloat16",
  "f64": "float64",
  "i8": "int8",
  "u8": "uint8",
  "i32": "int32",
  "i64": "int64",
  "bool": "bool",
}
_ARRAY = re.compile(r"(\w+)(?::(\w+))?\[([^\]]*)\]$")
_SCALAR = re.compile(r"(\w+)\s*=\s*([-+.\deE]+)$")


def parse(name: str, signature: str, sizes: Mapping, dtype: str):
  """(arguments, values of the scalars, values of the sizes per case).

  Raises ValueError, naming what was expected and what was given.
  """
  if dtype not in DTYPES:
    raise ValueError(
      f"{name}: dtype: expected one of {set(DTYPES)}, got {dtype!r}"
    )
  before, arrow, after = signature.partition("->")
  if not arrow:
    raise ValueError(
      f"{name}: signature: expected 'inputs -> outputs', got {signature!r}"
    )
  arrays, scalars = [], {}
  for kind, text in (("input", before), ("output", after)):
    for part in re.split(r",\s*(?![^\[]*\])", text.strip()):
      if match := _ARRAY.match(part.strip()):
        arrays.append(_array(name, kind, dtype, *match.groups()))
      elif kind == "input" and (match := _SCALAR.match(part.strip())):
        scalars[match[1]] = float(match[2])
      else:
        raise ValueError(
          f"{name}: signature: expected 'x[rows, cols]', 'x:i32[n]' or 'a=0.5',"
          f" got {part.strip()!r}"
        )
  used = dict.fromkeys(e for a in arrays for e in a.shape if isinstance(e, str))
  if missing := [s for s in used if s not in sizes]:
    raise ValueError(
      f"{name}: sizes: expected values of {missing[0]!r}, got none"
    )
  names = [*used, *(s for s in sizes if s not in used)]
  arguments = (
    *arrays,
    *(Argument(s, "attribute", "int64") for s in names),
    *(Argument(s, "attribute", "float32") for s in scalars),
  )
  return arguments, scalars, _cases(name, sizes, names)


def _array(name, kind, default, array, short, extents) -> Argument:
  if (short or default) not in DTYPES:
    raise ValueError(
      f"{name}: {array}: expected a dtype of {set(DTYPES)}, got {short!r}"
    )
  shape = [e.strip() for e in extents.split(",")]
  shape = tuple(int(e) if e.isdigit() else e for e in shape if e)
  return Argument(array, kind, DTYPES[short or default], shape)


def _cases(name, sizes, names) -> list[dict[str, int]]:
  given = {s: v for s, v in sizes.items() if not isinstance(v, str)}
  counts = {len(v) for v in given.values()}
  if len(counts) != 1 or min(counts) < 3:
    raise ValueError(
      f"{name}: sizes: expected equally many values of each, 3 or more (checked"
      f" ..., hidden, large), got {dict(sizes)}"
    )
  cases = []
  for column in zip(*given.values(), strict=True):
    case = dict(zip(given, column, strict=True))
    for size, value in sizes.items():
      if isinstance(value, str):
        case[size] = int(formula(value)(case))
    cases.append({s: case[s] for s in names})
  return cases


def formula(text: str) -> Callable[[Mapping], float] | None:
  """A function of the attributes; None for ''."""
  if not text:
    return None
  code = compile(text, "<formula>", "eval")
  return lambda attributes: eval(
    code, {"__builtins__": {"max": max, "min": min}}, dict(attributes)
  )
