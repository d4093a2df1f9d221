"""Kinds of inputs: what is drawn, and the tolerance that goes with it."""

import jax.numpy as jnp
import numpy as np
import pytest

from jaxkern.tasks import inputs, suite

KINDS = (
  inputs.WIDE,
  inputs.TIES,
  inputs.NEGATIVE,
  inputs.OFFSET,
  inputs.DENORMAL,
)
FLOATS = ("float32", "float16", "bfloat16")
EPS = 2.0**-23
every_task = pytest.mark.parametrize("name", suite.names())


def drawn(kind, dtype="float32", shape=(64, 100)):
  values = inputs.draw(kind, np.random.default_rng(0), shape, dtype)
  assert values.dtype == jnp.dtype(dtype) and values.shape == shape
  return values.astype(np.float64)


def probe(name, kind, seed=0, case=-2):
  """(attributes, inputs, expected, (rtol, atol)) of a task."""
  task = suite.get(name)
  attributes = task.cases[case]
  arrays, bounds = task.probe(kind, np.random.default_rng(seed), attributes)
  return attributes, arrays, task.reference(arrays, attributes)["y"], bounds


@pytest.mark.parametrize("dtype", FLOATS)
def test_kinds_are_what_they_are_called(dtype):
  wide = np.abs(drawn(inputs.WIDE, dtype))
  assert wide.max() > 90 and wide.max() <= 100
  assert 0 < wide.min() < 1.1e-3
  ties = drawn(inputs.TIES, dtype)
  assert 0.3 < (ties == 0).mean() < 0.6 and len(np.unique(ties)) == 7
  negative = drawn(inputs.NEGATIVE, dtype)
  assert (negative[::2] < 0).all()
  assert 0.2 < (negative[1::2] > 0).mean() < 0.3
  offset = drawn(inputs.OFFSET, dtype)
  assert abs(offset.mean() - 100) < 0.1 and 0.9 < offset.std() < 1.1


@pytest.mark.parametrize("dtype", FLOATS)
def test_denormals_are_denormal_and_not_zero(dtype):
  values = np.abs(drawn(inputs.DENORMAL, dtype))
  limits = jnp.finfo(dtype)
  assert values.min() >= float(limits.smallest_subnormal)
  assert values.max() < float(limits.smallest_normal)
  assert values.max() > 0.9 * float(limits.smallest_normal)


def test_integers_are_wide_too():
  wide = np.abs(drawn(inputs.WIDE, "int32"))
  assert wide.max() > 9e4 and (wide < 10).mean() > 0.1


def test_unknown_kind_is_refused():
  with pytest.raises(ValueError, match="no inputs are called 'tiny'"):
    inputs.draw("tiny", np.random.default_rng(0), (1,), "float32")


def test_sensitivity_by_hand():
  x = {"x": np.array([[3.0, -4.0]], np.float32)}

  def exact(arrays):
    return {"y": arrays["x"].sum(1), "z": arrays["x"] ** 2}

  felt = inputs.sensitivity(exact, x, exact(x), np.random.default_rng(1))
  # At most 1.5 (3 + 4); d(x^2) = 2 x^2, by a factor of 0.5 to 1.5.
  assert 0.5 < felt["y"][0] <= 10.5
  assert (0.5 <= felt["z"] / [[18, 32]]).all()
  assert (felt["z"] / [[18, 32]] <= 1.5).all()


def test_tolerance_grows_with_what_cancels_and_not_with_what_does_not():
  base = (32 * EPS, 32 * EPS)
  rng = np.random.default_rng(0)
  sums = {"x": np.array([[1e4, -1e4, 1.0]], np.float32)}
  rtol, atol = inputs.tolerance(
    inputs.WIDE, base, lambda a: {"y": a["x"].sum(1)}, sums, 3, rng
  )
  # 12.6 eps of terms that are 1.4e4 together.
  assert rtol == base[0] and 1e4 < atol / (12.6 * EPS) < 2e4
  scaled = {"x": np.array([1e4, 1e-3], np.float32)}
  bounds = inputs.tolerance(
    inputs.WIDE, base, lambda a: {"y": 3 * a["x"]}, scaled, 1, rng
  )
  assert bounds == base


def test_tolerance_lets_long_sums_drift():
  rng = np.random.default_rng(0)
  ones = {"x": rng.uniform(1, 2, (4, 10000)).astype(np.float32)}
  for kind, ulps in ((inputs.NEGATIVE, 100), (inputs.TIES, 1250)):
    rtol, _ = inputs.tolerance(
      kind, (32 * EPS, 0), lambda a: {"y": a["x"].sum(1)}, ones, 10000, rng
    )
    assert rtol == ulps * EPS
  equal = np.full(10000, 1.1, np.float32)
  one_by_one = np.cumsum(equal)[-1]
  error = abs(one_by_one / equal.sum(dtype=np.float64) - 1)
  assert 100 * EPS < error < 1250 * EPS


def test_integers_have_no_tolerance():
  _, _, _, bounds = probe("row_sum_int32", inputs.WIDE)
  assert bounds == (0, 0)


@every_task
def test_every_task_bears_kinds_and_its_answers_to_them_are_finite(name):
  task = suite.get(name)
  assert len(task.kinds) >= 2
  assert set(task.kinds) <= set(KINDS)
  for kind in task.kinds:
    _, _, expected, (rtol, atol) = probe(name, kind)
    wide = expected.astype(np.float64)
    assert np.isfinite(wide).all(), kind
    # An answer of zeros is not right, and the tolerance no free pass.
    error = np.abs(wide)
    assert (error > atol + rtol * error).mean() > 0.01, kind


@pytest.mark.parametrize("name", ["scale", "relu_bf16", "relu_f16", "row_max"])
def test_expected_values_of_denormals_are_not_flushed(name):
  _, arrays, expected, (_, atol) = probe(name, inputs.DENORMAL)
  step = float(jnp.finfo(expected.dtype).smallest_subnormal)
  assert atol == 3 * step
  largest = np.abs(expected.astype(np.float64)).max()
  assert 10 * step < largest
  assert largest <= 2 * np.abs(arrays["x"].astype(np.float64)).max()


def test_what_tasks_bear_is_declared():
  def kinds(name):
    return set(suite.get(name).kinds)

  common = {inputs.WIDE, inputs.TIES, inputs.NEGATIVE}
  assert kinds("scale") == common | {inputs.DENORMAL}
  assert kinds("gelu") == common == kinds("mul") == kinds("matmul")
  assert kinds("softmax") == common | {inputs.OFFSET}
  assert kinds("row_sum_tanh") == common
  assert kinds("row_sum") == set(KINDS) - {inputs.DENORMAL}
  assert kinds("gated_gelu") == common - {inputs.WIDE}
  assert kinds("row_sum_int32") == common
