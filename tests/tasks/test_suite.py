"""Every task against an independent float64 reference, and against cheats."""

import functools
import math

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkern.tasks import suite
from jaxkern.tasks.recipe import tolerance
from jaxkern.tasks.task import (
  shape_of,
  shapes,
  signature,
  with_hidden_sizes,
)


def gelu(v):
  return v / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))


def sigmoid(v):
  return 1 / (1 + np.exp(-v))


def silu(v):
  return v * sigmoid(v)


def relu(v):
  return np.where(v > 0, v, 0)


def softmax(v):
  e = np.exp(v)
  return e / e.sum(1, keepdims=True)


def rms(v):
  return v / np.sqrt((v**2).mean(1, keepdims=True) + 1e-5)


def standard(v):
  d = v - v.mean(1, keepdims=True)
  return d / np.sqrt((d**2).mean(1, keepdims=True) + 1e-5)


FORMS = {
  "": lambda x: x,
  "add": lambda x, z: x + z,
  "mul": lambda x, z: x * z,
  "bias": lambda x, b: x + b,
  "scale": lambda x, a: a * x,
  "axpy": lambda x, z, a: a * x + z,
}
ACTIVATIONS = {
  "": lambda v: v,
  "relu": relu,
  "gelu": gelu,
  "silu": silu,
  "sigmoid": sigmoid,
  "tanh": np.tanh,
  "clamp": lambda v, lo, hi: np.minimum(np.maximum(v, lo), hi),
}
SINKS = {
  "": lambda v: v,
  "row_sum": lambda v: v.sum(1),
  "row_max": lambda v: v.max(1),
  "row_mean": lambda v: v.mean(1),
  "row_norm": lambda v: np.sqrt((v**2).sum(1)),
  "softmax": softmax,
  "log_softmax": lambda v: np.log(softmax(v)),
  "rms_norm": rms,
  "layer_norm": standard,
  "transpose": lambda v: v.T,
}


def composed(sink, form, activation):
  """sink(activation(form(x, ...)))."""

  def formula(**values):
    bounds = {k: values.pop(k) for k in ("lo", "hi") if k in values}
    return SINKS[sink](ACTIVATIONS[activation](FORMS[form](**values), **bounds))

  return formula


def product(activation, equation):
  """activation(x w + b)."""

  def formula(x, w, b=0):
    return ACTIVATIONS[activation](np.einsum(equation, x, w) + b)

  return formula


def followed(activation, after):
  """activation(x) * z or activation(x) + z."""
  return lambda x, z: (
    ACTIVATIONS[activation](x) * z
    if after == "gate"
    else ACTIVATIONS[activation](x) + z
  )


def name_of(*parts):
  return "_".join(filter(None, parts))


# More than the suite has.
NUMPY = {
  **{
    name_of(sink, form, activation): composed(sink, form, activation)
    for sink in SINKS
    for form in FORMS
    for activation in ACTIVATIONS
  },
  **{
    name_of(kind, bias, activation): product(activation, equation)
    for kind, equation in (("matvec", "rc,c->r"), ("matmul", "mk,kn->mn"))
    for bias in ("", "bias")
    for activation in ACTIVATIONS
  },
  **{f"gated_{name}": followed(name, "gate") for name in ACTIVATIONS},
  **{f"{name}_add": followed(name, "add") for name in ACTIVATIONS},
  **{
    f"{name}_{dtype}": composed("", form, activation)
    for name, form, activation in (
      ("relu", "", "relu"),
      ("add", "add", ""),
      ("mul", "mul", ""),
      ("scale", "scale", ""),
    )
    for dtype in ("f16", "bf16", "int32")
  },
  "row_sum_int32": lambda x: x.sum(1),
  "rms_norm_gain": lambda x, g: rms(x) * g,
  "layer_norm_gain": lambda x, g: standard(x) * g,
}
every_task = pytest.mark.parametrize("name", suite.names())


@functools.cache
def solved(name):
  """[(attributes, inputs, expected)] of all cases, with the bundle's kind."""
  task = suite.get(name)
  cases = []
  for k, attributes in enumerate(task.cases):
    inputs = task.make_inputs(np.random.default_rng(k), attributes)
    cases.append((attributes, inputs, task.reference(inputs, attributes)["y"]))
  return cases


def wrong(name, attributes, answer, expected):
  """Elements outside the tolerance."""
  rtol, atol = suite.get(name).tolerance(attributes)
  expected = expected.astype(np.float64)
  error = np.abs(np.asarray(answer, np.float64) - expected)
  return int((error > atol + rtol * np.abs(expected)).sum())


def scalars(task, attributes):
  names = [a.name for a in task.arguments if a.kind == "attribute"]
  names = [n for n in names if n in ("a", "lo", "hi")]
  return {n: attributes[n] for n in names}


@every_task
def test_reference_agrees_with_numpy_in_float64(name):
  for attributes, inputs, expected in solved(name):
    wide = {k: v.astype(np.float64) for k, v in inputs.items()}
    answer = NUMPY[name](**wide, **scalars(suite.get(name), attributes))
    answer = answer.astype(np.float64)
    assert answer.shape == expected.shape
    error = np.abs(answer - expected.astype(np.float64))
    if expected.dtype == np.int32:
      assert not error.any()
      continue
    # Half an ulp of the output's dtype, and float64's own error.
    kind = jnp.finfo(expected.dtype)
    least = float(kind.smallest_subnormal)
    bound = 0.51 * (float(kind.eps) * np.abs(answer) + least) + 1e-11
    assert (error <= bound).all()


@every_task
def test_output_has_the_declared_shape_and_dtype(name):
  task = suite.get(name)
  output = next(a for a in task.arguments if a.kind == "output")
  for attributes, _, expected in solved(name):
    assert expected.shape == shape_of(output, attributes)
    assert expected.dtype.name == output.dtype
    assert np.isfinite(expected.astype(np.float64)).all()


@every_task
def test_trivial_answers_fail(name):
  task = suite.get(name)
  for index, (attributes, inputs, expected) in enumerate(solved(name)):
    if expected.size < 30:
      continue
    answers = {
      "zeros": np.zeros_like(expected),
      "ones": np.ones_like(expected),
      "mean": np.full(expected.shape, expected.astype(np.float64).mean()),
      "half": np.where(
        np.arange(expected.size) < expected.size // 2, expected.ravel(), 0
      ).reshape(expected.shape),
    }
    for key, value in inputs.items():
      if value.size >= expected.size:
        copy = value.ravel()[: expected.size]
        answers[f"copy of {key}"] = copy.reshape(expected.shape)
    for kind, answer in answers.items():
      count = wrong(name, attributes, answer, expected)
      assert count >= 0.1 * expected.size, f"{task.name} {index}: {kind}"


@every_task
def test_every_input_and_scalar_matters(name):
  task = suite.get(name)
  attributes, inputs, expected = solved(name)[2]
  for key in inputs:
    other = task.make_inputs(np.random.default_rng(99), attributes)[key]
    answer = task.reference({**inputs, key: other}, attributes)["y"]
    assert wrong(name, attributes, answer, expected) > 0.1 * expected.size
  for key, value in scalars(task, attributes).items():
    changed = {**attributes, key: value + 0.5}
    answer = task.reference(inputs, changed)["y"]
    assert wrong(name, attributes, answer, expected) > 0.1 * expected.size


@every_task
def test_answers_in_lower_precision_fail(name):
  lower = {"float32": "float16", "float16": "bfloat16"}
  task = suite.get(name)
  if task.arguments[0].dtype not in lower:
    pytest.skip("integers, or no lower precision")
  attributes, inputs, expected = solved(name)[-1]
  dtype = jnp.dtype(lower[task.arguments[0].dtype])
  rounded = {k: v.astype(dtype).astype(v.dtype) for k, v in inputs.items()}
  answer = task.reference(rounded, attributes)["y"]
  assert wrong(name, attributes, answer, expected) > 0


@every_task
def test_cases_are_awkward_and_one_is_timed(name):
  task = suite.get(name)
  sizes = [
    {k: v for k, v in c.items() if isinstance(v, int)} for c in task.cases
  ]
  assert set(sizes[0].values()) == {1}
  assert any(v % 32 for s in sizes[1:] for v in s.values())
  assert task.timed == (len(task.cases) - 1,)
  for argument in task.arguments:
    for attributes in task.cases:
      assert math.prod(shape_of(argument, attributes)) <= 1 << 17


def test_suite_has_two_levels_and_two_splits():
  assert len(suite.names()) >= 36
  assert len(suite.names(level=1)) >= 16 <= len(suite.names(level=2))
  assert len(suite.names("test")) >= 10
  assert not set(suite.names("test")) & set(suite.names("train"))


@pytest.mark.parametrize("name", suite.names("test"))
def test_elements_of_a_test_task_occur_in_training_tasks(name):
  held_out = suite.recipe(name)
  train = [suite.recipe(n) for n in suite.names("train")]
  assert held_out.family in {r.family for r in train}
  for field in ("read", "activation", "passes"):
    found = [r for r in train if getattr(r, field) == getattr(held_out, field)]
    assert len(found) >= 2, field
  assert held_out.summary not in {
    r.summary for r in train if r.arguments == held_out.arguments
  }


@every_task
def test_hidden_sizes_are_new(name):
  task = suite.get(name)
  hidden = with_hidden_sizes(task)
  sizes = [
    tuple(v for v in c.values() if isinstance(v, int)) for c in task.cases
  ]
  assert len(hidden.cases) >= 5 and hidden.timed == (len(hidden.cases) - 1,)
  for case in hidden.cases:
    assert set(case) == set(task.cases[0])
    assert tuple(v for v in case.values() if isinstance(v, int)) not in sizes


def test_matmul_bias_relu_by_hand():
  inputs = {
    "x": np.array([[1, 2]], np.float32),
    "w": np.array([[1, -1], [3, -2]], np.float32),
    "b": np.array([0.5, 1], np.float32),
  }
  task = suite.get("matmul_bias_relu")
  # [1 + 6 + 0.5, max(0, -1 - 4 + 1)]
  y = task.reference(inputs, {"m": 1, "k": 2, "n": 2})["y"]
  np.testing.assert_array_equal(y, [[7.5, 0]])


def test_softmax_scale_by_hand():
  x = np.array([[0, math.log(3)]], np.float32)
  task = suite.get("softmax_scale")
  y = task.reference({"x": x}, {"rows": 1, "cols": 2, "a": 2.0})["y"]
  np.testing.assert_allclose(y, [[0.1, 0.9]], rtol=1e-6)


def test_signature_is_the_contract_in_one_line():
  assert signature(suite.get("bias_relu")) == (
    'extern "C" int launch(const float* x, const float* b, float* y, '
    "int64_t rows, int64_t cols, cudaStream_t stream)"
  )
  assert signature(suite.get("scale_bf16")) == (
    'extern "C" int launch(const __nv_bfloat16* x, __nv_bfloat16* y, '
    "int64_t n, float a, cudaStream_t stream)"
  )
  assert shapes(suite.get("matmul")) == "x[m, k], w[k, n], y[m, n]"
  assert suite.get("gated_silu").summary == "y = jax.nn.silu(x) * z"


def test_tolerance_by_hand():
  assert tolerance("float32") == (2.0**-18, 2.0**-18)
  assert tolerance("float32", 8) == (2.0**-18, 2.0**-15)
  assert tolerance("float16") == (2.0**-9, 2.0**-10)
  assert tolerance("bfloat16") == (2.0**-6, 2.0**-7)
  assert tolerance("int32") == (0, 0)
  row_sum = suite.get("row_sum").tolerance({"rows": 1, "cols": 64})
  assert row_sum == (2.0**-18, 2.0**-15)


@pytest.mark.parametrize(
  ("call", "message"),
  [
    (lambda: suite.get("add_geluu"), "add_geluu.*did you mean add_gelu"),
    (lambda: suite.get("?"), r"no task is named '\?'$"),
    (lambda: suite.names(set="all"), "set: expected 'primer' or 'suite'"),
    (lambda: suite.select("all"), "file or folder of tasks, got 'all'"),
    (lambda: suite.select("suite", "train", 7), "expected 1, 2 or 3, got 7"),
    (lambda: suite.names("dev"), "split: expected 'train', 'valid"),
    (lambda: suite.names(level=4), "level: expected 1, 2 or 3, got 4"),
  ],
)
def test_mistakes_get_one_clear_message(call, message):
  with pytest.raises(ValueError, match=message):
    call()
