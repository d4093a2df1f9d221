import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkern.models import decode_attention
from jaxkern.models.attention import Cache, attend

# On a GPU the kernel itself, elsewhere its interpretation.
decode = functools.partial(
  decode_attention.decode, interpret=jax.default_backend() != "gpu"
)


def drawn(rows, heads, kv_heads, slots, depth=16, dtype=jnp.float32, length=1):
  keys = jax.random.split(jax.random.key(0), 4)
  queries = jax.random.normal(keys[0], (rows, length, heads, depth), dtype)
  cache = Cache(
    jax.random.normal(keys[1], (rows, kv_heads, depth, slots), dtype),
    jax.random.normal(keys[2], (rows, kv_heads, slots, depth), dtype),
  )
  filled = jnp.array([slots, 1, 70, 64, slots // 2 + 1][:rows], jnp.int32)
  visible = jax.random.uniform(keys[3], (rows, 1, slots)) < 0.7
  visible &= jnp.arange(slots)[None, None] < filled[:, None, None]
  return queries, cache, visible.at[:, :, 0].set(True), filled


@pytest.mark.parametrize(
  ("heads", "slots", "length"),
  [((4, 2), 128, 1), ((3, 3), 1024, 1), ((16, 1), 1024, 1), ((4, 2), 128, 4)],
)
def test_the_kernel_does_what_attend_does(heads, slots, length):
  args = drawn(5, *heads, slots, length=length)
  expected = attend(*args[:3])
  # A GPU's tensor cores round float32.
  np.testing.assert_allclose(decode(*args), expected, atol=5e-3)


def test_slots_beyond_what_is_filled_are_not_read():
  queries, cache, visible, filled = drawn(5, 4, 2, 256)
  blocks = -(-filled // decode_attention.BLOCK) * decode_attention.BLOCK
  beyond = jnp.arange(256)[None] >= blocks[:, None]
  spoilt = Cache(
    jnp.where(beyond[:, None, None], jnp.nan, cache.keys),
    jnp.where(beyond[:, None, :, None], jnp.nan, cache.values),
  )
  got = decode(queries, spoilt, visible, filled)
  np.testing.assert_array_equal(got, decode(queries, cache, visible, filled))


def test_a_row_that_sees_nothing_gets_zeros():
  queries, cache, visible, filled = drawn(3, 4, 2, 128)
  got = decode(queries, cache, visible, filled.at[1].set(0))
  assert (np.asarray(got[1]) == 0).all()
  assert np.isfinite(np.asarray(got)).all()


def test_bfloat16_is_near_attend():
  args = drawn(4, 4, 2, 256, depth=32, dtype=jnp.bfloat16)
  got, expected = decode(*args), attend(*args[:3])
  assert got.dtype == jnp.bfloat16
  np.testing.assert_allclose(
    got.astype(jnp.float32), expected.astype(jnp.float32), atol=0.02
  )


def test_caches_of_other_lengths_are_an_error():
  queries, cache, visible, filled = drawn(2, 4, 2, 100)
  with pytest.raises(ValueError, match="multiple of 64 slots, got 100"):
    decode(queries, cache, visible, filled)


@pytest.mark.parametrize(
  ("shape", "kv_heads", "fits"),
  [
    ((1, 1, 16, 128), 8, True),
    ((1, 4, 32, 128), 8, True),
    ((1, 8, 32, 128), 8, False),
    ((1, 1, 4, 12), 2, False),
  ],
)
def test_which_queries_fit(shape, kv_heads, fits):
  assert decode_attention.fits(jnp.zeros(shape), kv_heads) == fits


def test_it_can_be_compiled_for_a_gpu_where_there_is_none():
  args = jax.eval_shape(
    lambda: drawn(5, 16, 8, 320, depth=128, dtype=jnp.bfloat16)
  )
  with h200():
    traced = jax.jit(decode_attention.decode).trace(*args)
    text = traced.lower(lowering_platforms=("cuda",)).as_text()
  assert "triton" in text


def h200():
  """What jax from 0.11 wants to know of the GPU."""
  device = getattr(jax.sharding, "AbstractDevice", None)
  if device is None:
    return contextlib.nullcontext()
  mesh = jax.sharding.AbstractMesh(
    (1,),
    ("x",),
    axis_types=(jax.sharding.AxisType.Auto,),
    abstract_device=device("NVIDIA H200", num_cores=None, platform="gpu"),
  )
  return jax.sharding.use_abstract_mesh(mesh)
