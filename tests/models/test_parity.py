"""Every family against what transformers made of the same small weights."""

import functools
import pathlib
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import small_checkpoints as small

from jaxkern import models
from jaxkern.models import checkpoints, transformer
from jaxkern.models.attention import with_room

EXPECTED = np.load(pathlib.Path(__file__).parent / "parity.npz")
LENGTH = small.TOKENS.shape[1]


@functools.cache
def loaded(family: str):
  with tempfile.TemporaryDirectory() as directory:
    path = small.write(pathlib.Path(directory), family)
    return checkpoints.load(path)


def visible(family: str) -> np.ndarray:
  mask = np.tril(np.ones((LENGTH, LENGTH), bool))
  mask = small.block_mask(LENGTH) if family == "sdar" else mask
  return np.broadcast_to(mask, (len(small.TOKENS), LENGTH, LENGTH))


def positions() -> np.ndarray:
  return np.broadcast_to(np.arange(LENGTH), small.TOKENS.shape)


def logits(model, params, tokens, *args):
  """Of a call of the decoder, and its caches."""
  states, caches = model.apply(params, tokens, *args)
  return model.apply(params, states, method="logits"), caches


@pytest.mark.parametrize("family", small.FAMILIES)
def test_logits_are_those_of_transformers(family):
  architecture, params, _ = loaded(family)
  model = transformer.build(architecture)
  got, _ = jax.jit(functools.partial(logits, model))(
    params, small.TOKENS, positions(), visible(family)
  )
  np.testing.assert_allclose(got, EXPECTED[f"{family}/logits"], atol=1e-4)


@pytest.mark.parametrize("family", small.FAMILIES)
def test_decoding_with_a_cache_equals_recomputing(family):
  architecture, params, _ = loaded(family)
  model = transformer.build(architecture)
  apply = jax.jit(functools.partial(logits, model))
  mask, known = visible(family), 32
  step = small.BLOCK if family == "sdar" else 1
  got, caches = apply(
    params,
    small.TOKENS[:, :known],
    positions()[:, :known],
    mask[:, :known, :known],
  )
  caches = with_room(caches, LENGTH - known)
  rows = [got]
  for t in range(known, LENGTH, step):
    now = slice(t, t + step)
    got, caches = apply(
      params,
      small.TOKENS[:, now],
      positions()[:, now],
      mask[:, now],
      caches,
      t,
    )
    rows.append(got)
  np.testing.assert_allclose(
    np.concatenate(rows, axis=1), EXPECTED[f"{family}/logits"], atol=1e-4
  )


@pytest.mark.parametrize("family", ["smollm2", "qwen2", "qwen3", "llama3"])
def test_a_policy_of_a_directory_writes_what_transformers_writes(
  tmp_path, family
):
  policy = models.make(
    {"checkpoint": str(small.write(tmp_path, family)), "max_new_tokens": 12},
    vocab_size=48,
    end_id=0,
    pad_id=0,
  )
  params = policy.init(jax.random.key(0))
  prompt = small.TOKENS[:1, : small.PROMPT].astype(np.int32)
  drawn = policy.sample(
    params, jax.random.key(0), prompt, np.ones(prompt.shape), 0.0
  )
  expected = EXPECTED[f"{family}/greedy"]
  length = int(drawn.mask.sum())
  assert length == small.NEW or expected[length - 1] == 0
  np.testing.assert_array_equal(drawn.tokens[0, :length], expected[:length])


def test_bfloat16_parameters_have_float32_logits_and_a_gradient():
  architecture, params, _ = loaded("qwen2")
  params = jax.tree.map(lambda x: x.astype(jnp.bfloat16), params)
  model = transformer.build(architecture, dtype=jnp.bfloat16, remat=True)

  def total(params):
    got, _ = logits(model, params, small.TOKENS, positions(), visible("qwen2"))
    assert got.dtype == jnp.float32
    return jnp.mean(got**2), got

  gradient, got = jax.jit(jax.grad(total, has_aux=True))(params)
  expected = EXPECTED["qwen2/logits"]
  assert np.abs(got - expected).mean() < 0.02 * np.abs(expected).max()
  for leaf in jax.tree.leaves(gradient):
    assert leaf.dtype == jnp.bfloat16
    assert jnp.isfinite(leaf).all() and jnp.any(leaf != 0)
