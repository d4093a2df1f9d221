import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkern.models import transformer
from jaxkern.models.attention import Cache, with_room
from jaxkern.models.transformer import Transformer


def small(**changes):
  sizes = dict(
    vocab_size=11,
    width=8,
    layers=2,
    heads=4,
    kv_heads=2,
    head_width=2,
    hidden=12,
  )
  return Transformer(**(sizes | changes))


@functools.cache
def initialise(model):
  tokens = jnp.zeros((1, 2), jnp.int32)
  init = functools.partial(model.init, method="initialise")
  return jax.jit(init)(jax.random.key(0), tokens)


def causal(batch, length):
  mask = jnp.tril(jnp.ones((length, length), bool))
  return jnp.broadcast_to(mask[None], (batch, length, length))


def test_rotate_turns_each_pair_by_position_times_frequency():
  x = jnp.array([1.0, 0.0, 0.0, 1.0]).reshape(1, 1, 1, 4)
  got = transformer.rotate(x, jnp.array([[2]]), base=100.0)[0, 0, 0]
  # Pair (0, 2) = (1, 0) by 2 rad; pair (1, 3) = (0, 1) by 2 / 10 rad.
  expected = [np.cos(2), -np.sin(0.2), np.sin(2), np.cos(0.2)]
  np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_rotated_products_depend_on_distance_only():
  q, k = jax.random.normal(jax.random.key(0), (2, 1, 1, 1, 8))
  at = lambda x, p: transformer.rotate(x, jnp.array([[p]]), 1e4)  # noqa: E731
  near = jnp.sum(at(q, 5) * at(k, 3))
  np.testing.assert_allclose(near, jnp.sum(at(q, 105) * at(k, 103)), atol=1e-4)


def test_attend_weighs_visible_values_by_softmax():
  queries = jnp.array([2.0, 0.0]).reshape(1, 1, 1, 2)
  keys = jnp.array([[0.0, 1.0, 9.0], [5.0, 0.0, 9.0]]).reshape(1, 1, 2, 3)
  values = jnp.array([[1.0, 0], [0, 1], [7, 7]]).reshape(1, 1, 3, 2)
  visible = jnp.array([True, True, False]).reshape(1, 1, 3)
  got = transformer.attend(queries, Cache(keys, values), visible)
  # Scores 0 and 2 / sqrt(2); the third slot is hidden.
  p = 1 / (1 + np.exp(2**0.5))
  np.testing.assert_allclose(got[0, 0, 0], [p, 1 - p], rtol=1e-6)


def test_each_query_head_reads_the_key_head_of_its_group():
  queries = jnp.ones((1, 1, 4, 2))
  values = jnp.arange(2.0).reshape(1, 2, 1, 1) * jnp.ones((1, 2, 1, 2))
  visible = jnp.ones((1, 1, 1), bool)
  cache = Cache(jnp.ones((1, 2, 2, 1)), values)
  got = transformer.attend(queries, cache, visible)
  np.testing.assert_array_equal(got[0, 0, :, 0], [0, 0, 1, 1])


def test_rms_norm_divides_by_the_root_mean_square():
  norm = transformer.RMSNorm(epsilon=0.0)
  x = jnp.array([[3.0, 4.0]])
  got = norm.apply(norm.init(jax.random.key(0), x), x)
  np.testing.assert_allclose(got, x / np.sqrt(12.5), rtol=1e-6)


def test_a_token_at_a_time_with_a_cache_equals_one_pass():
  model = small()
  params = initialise(model)
  tokens = jax.random.randint(jax.random.key(1), (3, 6), 0, 11)
  positions = jnp.broadcast_to(jnp.arange(6)[None], (3, 6))
  apply = jax.jit(model.apply)
  expected, _ = apply(params, tokens, positions, causal(3, 6))

  states, caches = apply(params, tokens[:, :4], positions[:, :4], causal(3, 4))
  np.testing.assert_allclose(states, expected[:, :4], atol=1e-5)
  caches = with_room(caches, 2)
  for t in (4, 5):
    states, caches = apply(
      params,
      tokens[:, t : t + 1],
      positions[:, t : t + 1],
      causal(3, 6)[:, t : t + 1],
      caches,
      t,
    )
    np.testing.assert_allclose(states[:, 0], expected[:, t], atol=1e-5)


def test_a_row_that_sees_nothing_stays_finite():
  model = small()
  tokens = jnp.zeros((1, 3), jnp.int32)
  nothing = jnp.zeros((1, 3, 3), bool)
  states, _ = model.apply(initialise(model), tokens, tokens, nothing)
  assert jnp.isfinite(states).all()


@pytest.mark.parametrize("tied", [True, False])
def test_parameter_count_is_that_of_the_architecture(tied):
  count = sum(x.size for x in jax.tree.leaves(initialise(small(tied=tied))))
  attention = 8 * 8 + 2 * 8 * 4 + 8 * 8  # q, k and v, o
  block = attention + 3 * 8 * 12 + 2 * 8
  assert count == 11 * 8 * (1 if tied else 2) + 2 * block + 8


def test_bfloat16_activations_stay_near_float32():
  tokens = jnp.array([[1, 2, 3]])
  params = initialise(small())
  outputs = []
  for dtype in (jnp.float32, jnp.bfloat16):
    model = small(dtype=dtype)
    states, _ = model.apply(params, tokens, tokens, causal(1, 3))
    assert states.dtype == dtype
    outputs.append(model.apply(params, states, method="logits"))
    assert outputs[-1].dtype == jnp.float32
  np.testing.assert_allclose(*outputs, atol=0.02)
