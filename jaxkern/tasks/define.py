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
from collections.abc import Callable, Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from jaxkern.tasks import inputs as kinds_of_inputs
from jaxkern.tasks import measure
from jaxkern.tasks.draws import Draw, drawer, has_plain_floats, is_float
from jaxkern.tasks.signature import DTYPES, formula, parse
from jaxkern.tasks.task import (
  C_TYPES,
  Argument,
  Arrays,
  Task,
  launch_signature,
  parameter,
)

KINDS = (kinds_of_inputs.NEGATIVE, kinds_of_inputs.TIES)
_CONVERSIONS = {
  "float16": ("cuda_fp16.h", "__half2float(v)", "__float2half(v)"),
  "bfloat16": ("cuda_bf16.h", "__bfloat162float(v)", "__float2bfloat16(v)"),
}


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
    tolerance: (rtol, atol) where it cannot be measured.
    level, family, split, tags: as in Task; so are flops and traffic, as text.

  Raises:
    ValueError: naming the argument, what was expected and what was given.
  """
  arguments, scalars, cases = parse(name, signature, sizes, dtype)
  outputs = [a.name for a in arguments if a.kind == "output"]
  read = _of_function if callable(reference) else _of_text
  summary, exact = read(reference, outputs)
  *small, hidden, large = ({**case, **scalars} for case in cases)
  draw = drawer(arguments, draws or {})

  bounds, probe = _tolerances(arguments, exact, draw, terms, tolerance)
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
    reference=lambda inputs, attributes: rounded(
      exact(inputs, attributes), arguments
    ),
    tolerance=bounds,
    baseline=_baseline(arguments, threads, kernel, DTYPES[dtype]),
    kinds=tuple(kinds) if has_plain_floats(arguments, draws or {}) else (),
    probe=probe,
    tags=tuple(tags),
    large=(large,),
    exact=exact,
    flops=formula(flops),
    traffic=formula(traffic),
  )


def _tolerances(arguments, exact, draw, terms: str, given):
  """A Task's `tolerance` and `probe`: what is given, else what is measured."""

  def measured(kind, rng, attributes):
    """(inputs, (rtol, atol)) of a kind."""
    inputs = draw(kind, rng, attributes)
    return inputs, given or measure.tolerance(
      kind, arguments, exact, inputs, attributes, terms, rng
    )

  @functools.cache
  def ordinary(key) -> tuple[float, float]:
    """On inputs of its own."""
    return measured("", np.random.default_rng(0), dict(key))[1]

  def bounds(attributes):
    """As in Task."""
    return given or ordinary(tuple(attributes.items()))

  return bounds, measured


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


def rounded(outputs: Arrays, arguments: Sequence[Argument]) -> Arrays:
  """Outputs in the dtypes of the signature."""
  dtypes = {a.name: jnp.dtype(a.dtype) for a in arguments}
  return {n: np.asarray(y).astype(dtypes[n]) for n, y in outputs.items()}


def _baseline(arguments, threads: str, kernel: str, dtype: str) -> str:
  """The whole translation unit."""
  if not kernel or "launch(" in kernel:
    return inspect.cleandoc(kernel)
  header, load, store = _CONVERSIONS.get(dtype, ("", "v", "v"))
  prelude = f"typedef {C_TYPES[dtype]} T;\n"
  if header:
    prelude = f"#include <{header}>\n\n{prelude}"
  if is_float(dtype):
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
