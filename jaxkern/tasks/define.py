"""A task in twenty lines: a signature, a reference, sizes and a naive kernel.

  TASK = define(
    "swish",
    "x[rows, cols], g[cols], a=1.5 -> y[rows, cols]",
    "y = jax.nn.silu(a * x) * g",
    sizes={"rows": (1, 7, 64, 33, 8192), "cols": (3, 33, 50, 17, 4096)},
    threads="rows * cols",
    kernel='''
    float v = a * in(x[i]);
    y[i] = out(v / (1.0f + expf(-v)) * in(g[i % cols]));
    ''',
  )

The reference is text, executed as it stands in the prompt, or a function of
NumPy arrays. From it follow the tolerance (measured: how much of the inputs'
relative error its outputs feel), the operations and the difficulty.
"""

import functools
import inspect
import re
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxkern.tasks import inputs as kinds_of_inputs
from jaxkern.tasks.task import (
  C_TYPES,
  Argument,
  Arrays,
  Task,
  launch_signature,
  parameter,
  shape_of,
)

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
KINDS = (kinds_of_inputs.NEGATIVE, kinds_of_inputs.TIES)
_ARRAY = re.compile(r"(\w+)(?::(\w+))?\[([^\]]*)\]$")
_SCALAR = re.compile(r"(\w+)\s*=\s*([-+.\deE]+)$")
_CONVERSIONS = {
  "float16": ("cuda_fp16.h", "__half2float(v)", "__float2half(v)"),
  "bfloat16": ("cuda_bf16.h", "__bfloat162float(v)", "__float2bfloat16(v)"),
}

Draw = Callable[[np.random.Generator, tuple[int, ...], Mapping], np.ndarray]


def define(
  name: str,
  signature: str,
  reference: str | Callable,
  *,
  sizes: Mapping[str, Sequence[int] | str],
  threads: str = "",
  kernel: str = "",
  dtype: str = "f32",
  level: int = 1,
  family: str = "own",
  split: str = "train",
  terms: str = "1",
  draws: Mapping[str, Draw] | None = None,
  kinds: Sequence[str] = KINDS,
  tags: Sequence[str] = (),
  flops: str = "",
  traffic: str = "",
  tolerance: tuple[float, float] | None = None,
) -> Task:
  """A Task of a few lines of text.

  Args:
    name: unique, snake_case.
    signature: 'x[rows, k], i:i32[rows], a=0.5 -> y[rows]': arrays with their
      dtypes (default: `dtype`) and extents, float attributes with their value.
    reference: statements that assign the outputs, of the inputs and attributes
      by name, `jax`, `jnp` and `lax`; or a function of those that it names,
      which get NumPy arrays, and returns the outputs in order.
    sizes: values of each int64 attribute, column by column: sizes to check, the
      last of them timed, then a hidden one, then one that fills a GPU. A text
      is computed from the other sizes. Those that no shape has follow the
      others in `launch`.
    threads: how many CUDA threads the naive kernel has, of the sizes.
    kernel: what each does, `i` being its index; T is `dtype`, in(v) and out(v)
      convert to float and back. Or a whole translation unit, if it has a
      `launch`. Default: no kernel.
    dtype: of the arrays, as in DTYPES.
    terms: of the longest sum, in terms of the sizes.
    draws: how inputs are drawn that are not unit normal (or -1000 to 999).
    kinds: of inputs beside ordinary ones; see jaxkern.tasks.inputs. Inputs with
      a draw of their own keep it.
    flops, traffic: in terms of the sizes; see Task.
    tolerance: (rtol, atol) where it cannot be measured.
    level, family, split, tags: as in Task.

  Raises:
    ValueError: naming the argument, what was expected and what was given.
  """
  arguments, scalars, cases = _parse(name, signature, sizes, dtype)
  outputs = [a.name for a in arguments if a.kind == "output"]
  if callable(reference):
    summary, exact = _of_function(reference, outputs)
  else:
    summary, exact = _of_text(reference, outputs)
  cases = [{**case, **scalars} for case in cases]
  *small, hidden, large = cases
  draw = _drawer(arguments, draws or {})

  @functools.cache
  def bounds(key) -> tuple[float, float]:
    """Measured on inputs of its own."""
    attributes = dict(key)
    rng = np.random.default_rng(0)
    inputs = draw("", rng, attributes)
    return _measured("", arguments, exact, inputs, attributes, terms, rng)

  def probe(kind, rng, attributes):
    """As in Task."""
    inputs = draw(kind, rng, attributes)
    measured = tolerance or _measured(
      kind, arguments, exact, inputs, attributes, terms, rng
    )
    return inputs, measured

  return Task(
    name=name,
    level=level,
    family=family,
    split=split,
    summary=summary,
    arguments=arguments,
    cases=tuple(small),
    timed=(len(small) - 1,),
    hidden=(hidden,),
    make_inputs=lambda rng, attributes: draw("", rng, attributes),
    reference=lambda inputs, attributes: _rounded(
      exact(inputs, attributes), arguments
    ),
    tolerance=lambda attributes: tolerance or bounds(tuple(attributes.items())),
    baseline=_baseline(arguments, threads, kernel, DTYPES[dtype]),
    kinds=tuple(kinds) if _has_plain_floats(arguments, draws or {}) else (),
    probe=probe,
    tags=tuple(tags),
    large=(large,),
    exact=exact,
    flops=_formula(flops),
    traffic=_formula(traffic),
  )


def _parse(name, signature, sizes, dtype):
  """(arguments, values of the scalars, values of the sizes per case)."""
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
        case[size] = int(_formula(value)(case))
    cases.append({s: case[s] for s in names})
  return cases


def _formula(text: str) -> Callable[[Mapping], float] | None:
  """A function of the attributes; None for ''."""
  if not text:
    return None
  code = compile(text, "<formula>", "eval")
  return lambda attributes: eval(
    code, {"__builtins__": {"max": max, "min": min}}, dict(attributes)
  )


def _of_text(text: str, outputs: Sequence[str]):
  """The statements as a function, compiled once per sizes and dtype."""
  code = compile(inspect.cleandoc(text), "<reference>", "exec")

  @functools.partial(jax.jit, static_argnums=1)
  def run(inputs, attributes):
    """Executes them."""
    scope = {"jax": jax, "jnp": jnp, "lax": jax.lax, **dict(attributes)}
    scope.update(inputs)
    exec(code, scope)
    return {name: scope[name] for name in outputs}

  def exact(inputs: Arrays, attributes: Mapping, dtype="float64"):
    """As in Task; abstract inputs give what XLA would make of them."""
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
      with jax.default_matmul_precision("highest"):
        made = run(_widened(inputs, dtype), tuple(attributes.items()))
        return {name: np.asarray(y) for name, y in made.items()}

  exact.run = run
  return inspect.cleandoc(text), exact


def _of_function(function: Callable, outputs: Sequence[str]):
  """What a person wrote, called with what it asks for."""
  wanted = inspect.signature(function).parameters

  def exact(inputs: Arrays, attributes: Mapping, dtype="float64"):
    """As in Task."""
    values = {**attributes, **_widened(inputs, dtype)}
    with jax.enable_x64(True), jax.numpy_rank_promotion("allow"):
      made = function(*(values[name] for name in wanted))
      made = made if isinstance(made, tuple | list) else (made,)
      return {n: np.asarray(y) for n, y in zip(outputs, made, strict=True)}

  text = inspect.cleandoc(inspect.getdoc(function) or "")
  return text or inspect.getsource(function).strip(), exact


def _widened(inputs: Arrays, dtype: str) -> dict[str, np.ndarray]:
  """Floats as `dtype`; integers as they are."""
  return {
    name: x if x.dtype.kind in "iub" else x.astype(dtype)
    for name, x in inputs.items()
  }


def _rounded(outputs: Arrays, arguments: Sequence[Argument]) -> Arrays:
  dtypes = {a.name: jnp.dtype(a.dtype) for a in arguments}
  return {n: np.asarray(y).astype(dtypes[n]) for n, y in outputs.items()}


def _has_plain_floats(arguments, draws) -> bool:
  return any(
    a.kind == "input" and a.name not in draws and _is_float(a.dtype)
    for a in arguments
  )


def _is_float(dtype: str) -> bool:
  return "float" in dtype


def _drawer(arguments: Sequence[Argument], draws: Mapping[str, Draw]):
  """(kind, rng, attributes) -> inputs; kind '' for ordinary ones."""

  def draw(kind: str, rng: np.random.Generator, attributes: Mapping):
    """Every input in the order of the signature."""
    inputs = {}
    for a in arguments:
      if a.kind != "input":
        continue
      shape = shape_of(a, attributes)
      if a.name in draws:
        values = draws[a.name](rng, shape, attributes)
      elif not _is_float(a.dtype):
        least, most = (
          (-1000, 1000)
          if a.dtype in ("int32", "int64")
          else (
            jnp.iinfo(a.dtype).min if a.dtype != "bool" else 0,
            int(jnp.iinfo(a.dtype).max) + 1 if a.dtype != "bool" else 2,
          )
        )
        values = rng.integers(least, most, shape)
      elif kind:
        values = kinds_of_inputs.draw(kind, rng, shape, a.dtype)
      else:
        values = rng.standard_normal(shape, np.float32)
      inputs[a.name] = np.asarray(values).astype(jnp.dtype(a.dtype))
    return inputs

  return draw


def _measured(kind, arguments, exact, inputs, attributes, terms, rng):
  """(rtol, atol) of float32 arithmetic on these inputs.

  As jaxkern.tasks.inputs has it. Of 16-bit outputs it is what one rounding of
  a 16-bit intermediate costs, e.g. of attention's weights before they meet the
  values; and atol is a share of the outputs' own size, so that small ones are
  not lost in it.
  """
  floats = [a for a in arguments if a.kind == "output" and _is_float(a.dtype)]
  if not floats:
    return 0.0, 0.0
  loosest = max(floats, key=lambda a: float(jnp.finfo(a.dtype).eps))
  limits = jnp.finfo(loosest.dtype)
  single = float(np.finfo(np.float32).eps)
  terms = _formula(terms)(attributes)
  growth = max(terms**0.5, terms / 8 if kind == kinds_of_inputs.TIES else 0)
  short = limits.bits == 16
  unit = 2 * float(limits.eps) if short else 0.0
  rtol = max(unit or 32 * single, growth * single)
  factor = (10 + 1.5 * growth) * single + unit
  names = {a.name for a in floats}

  def of_floats(moved):
    """Integers stay where they are."""
    made = exact({**inputs, **moved}, attributes)
    return {n: y for n, y in made.items() if n in names}

  expected = of_floats({})
  felt = kinds_of_inputs.sensitivity(
    of_floats,
    {n: x for n, x in inputs.items() if x.dtype.kind not in "iub"},
    expected,
    rng,
  )
  atol = float(limits.smallest_subnormal) if short else 1e-30
  for name, y in expected.items():
    size = float(np.sqrt(np.mean(np.square(y)))) if y.size else 0.0
    share = (float(limits.eps) if short else 32 * single) * min(1.0, size)
    excess = factor * felt[name] - rtol * np.abs(y)
    atol = max(atol, share, float(excess.max(initial=0)))
  return rtol, atol


def _baseline(arguments, threads: str, kernel: str, dtype: str) -> str:
  """The whole translation unit."""
  if not kernel or "launch(" in kernel:
    return inspect.cleandoc(kernel)
  header, load, store = _CONVERSIONS.get(dtype, ("", "v", "v"))
  prelude = f"typedef {C_TYPES[dtype]} T;\n"
  if header:
    prelude = f"#include <{header}>\n\n{prelude}"
  if _is_float(dtype):
    prelude += (
      f"__device__ float in(T v) {{ return {load}; }}\n"
      f"__device__ T out(float v) {{ return {store}; }}\n"
    )
  body = "\n  ".join(inspect.cleandoc(kernel).splitlines())
  return f"""\
{prelude}
__global__ void kernel({", ".join(map(parameter, arguments))}) {{
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= {threads}) return;
  {body}
}}

{launch_signature(tuple(arguments))} {{
  int64_t threads = {threads};
  kernel<<<(threads + 127) / 128, 128, 0, stream>>>(\
{", ".join(a.name for a in arguments)});
  return cudaGetLastError();
}}
"""


def normal(scale: str = "1", offset: float = 0.0) -> Draw:
  """Normal, of a standard deviation in terms of the sizes."""
  formula = _formula(scale)

  def draw(rng, shape, attributes):
    """As a Draw."""
    return offset + rng.standard_normal(shape) * formula(attributes)

  return draw


def uniform(low: float, high: float) -> Draw:
  """Between the two."""
  return lambda rng, shape, attributes: rng.uniform(low, high, shape)


def integers(low: int, high: str) -> Draw:
  """From low to below high, which is in terms of the sizes."""
  formula = _formula(high)
  return lambda rng, shape, attributes: rng.integers(
    low, int(formula(attributes)), shape
  )
