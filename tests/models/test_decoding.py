"""Turns with a cache against the same tokens read at once."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkern.models import (
  autoregressive,
  decode_attention,
  decoding,
  transformer,
)
from jaxkern.models.transformer import Transformer, fuse

END = (1, 4)
VOCAB, NEW = 13, 12
SIZES = dict(
  vocab_size=VOCAB,
  width=16,
  layers=2,
  heads=4,
  kv_heads=2,
  head_width=4,
  hidden=24,
)
FAMILIES = {
  "plain": {},
  "qk_norm": {"qk_norm": True, "tied": False},
  "bias": {"qkv_bias": True},
}


@functools.cache
def made(family="plain"):
  """A decoder with parameters whose norms and biases matter, too."""
  model = Transformer(**SIZES, **FAMILIES[family])
  params = model.init(
    jax.random.key(0), jnp.zeros((1, 2), jnp.int32), method="initialise"
  )
  leaves, tree = jax.tree.flatten(params)
  keys = jax.random.split(jax.random.key(1), len(leaves))
  leaves = [
    2 * x + jax.random.normal(k, x.shape) / 4
    for x, k in zip(leaves, keys, strict=True)
  ]
  return model, jax.tree.unflatten(tree, leaves)


def drawn_keys(rows, seed=0):
  return jax.random.split(jax.random.key(seed), rows)


def talk(model, **options):
  options = {"max_new_tokens": NEW, "end_id": END, "pad_id": 0} | options
  return autoregressive.conversation(model, **options)


@pytest.mark.parametrize("family", FAMILIES)
def test_fused_matrices_say_the_same(family):
  model, params = made(family)
  tokens = jax.random.randint(jax.random.key(2), (3, 7), 0, VOCAB)
  positions = jnp.broadcast_to(jnp.arange(7)[None], (3, 7))
  expected, _ = model.apply(params, tokens, positions)
  fused, fused_params = fuse(model, params)
  got, _ = fused.apply(fused_params, tokens, positions)
  np.testing.assert_allclose(got, expected, atol=2e-5)
  count = lambda p: sum(x.size for x in jax.tree.leaves(p))  # noqa: E731
  grown = (4 + 2) * 4 - 2 * 4  # Scales of q and k, a row for every head.
  grown *= 2 if model.qk_norm else 0
  assert count(fused_params) == count(params) + grown


def test_fused_matrices_have_the_dtype_of_activations_and_norms_keep_theirs():
  model, params = made("qk_norm")
  _, fused = fuse(model.clone(dtype=jnp.bfloat16), params)
  for path, leaf in jax.tree_util.tree_leaves_with_path(fused):
    norm = path[-1].key == "scale"
    assert leaf.dtype == (jnp.float32 if norm else jnp.bfloat16)


def padded(rows, length, pad_left=True):
  tokens = np.zeros((len(rows), length), np.int32)
  mask = np.zeros((len(rows), length), np.float32)
  for b, row in enumerate(rows):
    at = slice(length - len(row), None) if pad_left else slice(len(row))
    tokens[b, at], mask[b, at] = row, 1
  return tokens, mask


@pytest.mark.parametrize("family", FAMILIES)
def test_turns_equal_reading_all_at_once(family):
  model, params = made(family)
  chat = talk(model)
  first = [[2, 3, 5], [7], [8, 9, 10, 11, 12]]
  second = [[6, 6], [], [5, 7, 9]]
  state = chat.read(params, *padded(first, 6))
  state, drawn = chat.write(params, state, drawn_keys(3), 1.5)
  said = [
    [*a, *np.asarray(t[m > 0])]
    for a, t, m in zip(first, drawn.tokens, drawn.mask, strict=True)
  ]
  again = chat.read(params, *padded(said, 20, pad_left=False))
  np.testing.assert_allclose(state.hidden, again.hidden, atol=1e-4)
  np.testing.assert_array_equal(state.lengths, again.lengths)

  state = chat.read_on(params, state, *padded(second, 4))
  whole = [a + b for a, b in zip(said, second, strict=True)]
  again = chat.read(params, *padded(whole, 24))
  np.testing.assert_allclose(state.hidden, again.hidden, atol=1e-4)
  _, one = chat.write(params, state, drawn_keys(3, 5), 1.0)
  _, other = chat.write(params, again, drawn_keys(3, 5), 1.0)
  np.testing.assert_array_equal(one.tokens, other.tokens)
  np.testing.assert_allclose(one.log_probs, other.log_probs, atol=1e-4)


def test_a_row_that_reads_nothing_writes_on():
  model, params = made()
  chat = talk(model, max_new_tokens=4, end_id=())
  state = chat.read(params, *padded([[2, 3]], 2))
  state, one = chat.write(params, state, drawn_keys(1), 0.0)
  state = chat.read_on(params, state, *padded([[]], 3))
  _, two = chat.write(params, state, drawn_keys(1), 0.0)
  longer = talk(model, max_new_tokens=8, end_id=())
  _, whole = longer.write(
    params, longer.read(params, *padded([[2, 3]], 2)), drawn_keys(1), 0.0
  )
  np.testing.assert_array_equal(
    np.concatenate([one.tokens, two.tokens], axis=1), whole.tokens
  )


def test_any_of_several_end_tokens_ends_a_row():
  model, params = made()
  chat = talk(model)
  rows = [[2, 3]] * 64
  state = chat.read(params, *padded(rows, 2))
  _, drawn = chat.write(params, state, drawn_keys(64), 3.0)
  lengths = np.asarray(drawn.mask).sum(axis=1).astype(int)
  last = {int(row[n - 1]) for row, n in zip(drawn.tokens, lengths) if n < NEW}  # noqa: B905
  assert last == set(END)
  for row, n in zip(np.asarray(drawn.tokens), lengths, strict=True):
    assert not set(row[: n - 1]) & set(END)
    assert (row[n:] == 0).all()


@pytest.mark.parametrize("new", [1, 63, 64, 130, 256, 1000])
def test_caches_grow_in_few_stages_that_hold_all_steps(new):
  stages = decoding.stages(new)
  assert len(stages) <= 4
  assert stages == sorted(set(stages))
  assert all(stop % decoding._STRIDE == 0 for stop in stages)
  assert new <= stages[-1] < new + decoding._STRIDE


def test_no_cache_is_copied_in_a_loop():
  """A step writes into its caches in place."""
  model, params = made()
  chat = talk(model, max_new_tokens=150)
  state = chat.read(params, *padded([[2, 3], [5]], 3))
  lowered = chat.write.lower(params, state, drawn_keys(2), 1.0)
  text = lowered.compile().as_text()
  for slots in (3 + stop for stop in decoding.stages(150)):
    for shape in (f"[2,2,4,{slots}]", f"[2,2,{slots},4]"):
      assert shape in text
      lines = [line for line in text.splitlines() if f"f32{shape}" in line]
      assert not [line for line in lines if " copy(" in line]


def test_stages_do_not_change_what_is_written():
  model, params = made()
  new = 150
  chat = talk(model, max_new_tokens=new, end_id=())
  prompts = padded([[2, 3], [5]], 3)
  state, drawn = chat.write(
    params, chat.read(params, *prompts), drawn_keys(2), 1.0
  )
  assert len(decoding.stages(new)) == 2
  assert state.lengths.tolist() == [2 + new, 1 + new]
  policy = autoregressive.around(
    model, max_new_tokens=new, end_ids=(), pad_id=0
  )
  got = policy.log_probs(params, *prompts, drawn.tokens, drawn.mask, (), 1.0)
  np.testing.assert_allclose(got, drawn.log_probs, atol=2e-4)


def test_the_fused_kernel_writes_the_same(monkeypatch):
  """Interpreted, as there is none of it on a CPU."""
  monkeypatch.setattr(
    transformer,
    "decode",
    functools.partial(
      decode_attention.decode, interpret=jax.default_backend() != "gpu"
    ),
  )
  model = Transformer(**SIZES | {"head_width": 16})
  params = model.init(
    jax.random.key(0), jnp.zeros((1, 2), jnp.int32), method="initialise"
  )
  chat = talk(model)
  state = chat.read(params, *padded([[2, 3, 5], [7], [8, 9, 10]], 4))
  _, expected = chat.write(params, state, drawn_keys(3), 1.0)
  fused = talk(model.clone(attention="fused"))
  grown, got = fused.write(params, state, drawn_keys(3), 1.0)
  assert grown.real.shape[1] == decode_attention.BLOCK
  np.testing.assert_array_equal(got.tokens, expected.tokens)
  np.testing.assert_allclose(got.log_probs, expected.log_probs, atol=2e-3)


def scored(attention, tokens=None):
  """Draws, or scores tokens: log-probabilities and their mean's gradient."""
  sizes = SIZES | {"head_width": 64, "width": 128, "vocab_size": 96}
  model = Transformer(**sizes, attention=attention, dtype=jnp.bfloat16)
  params = model.init(
    jax.random.key(0), jnp.zeros((1, 2), jnp.int32), method="initialise"
  )
  policy = autoregressive.around(model, max_new_tokens=80, end_ids=(), pad_id=0)
  prompts = padded([[2, 3, 5] * 7, [7], [8, 9, 10]], 32)
  if tokens is None:
    return policy.sample(params, jax.random.key(1), *prompts, 1.0)
  score = lambda p: policy.log_probs(  # noqa: E731
    p, *prompts, tokens, np.ones(tokens.shape), (), 1.0
  )
  return score(params), jax.grad(lambda p: jnp.mean(score(p)))(params)


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="needs a GPU")
def test_on_a_gpu_fused_attention_is_near_plain():
  drawn = scored("fused")
  fused, its_gradient = scored("fused", drawn.tokens)
  plain, gradient = scored("xla", drawn.tokens)
  np.testing.assert_allclose(fused, drawn.log_probs, atol=0.1)
  np.testing.assert_allclose(fused, plain, atol=0.1)
  for one, other in zip(
    *map(jax.tree.leaves, (gradient, its_gradient)), strict=True
  ):
    np.testing.assert_allclose(one, other, atol=0.1 * np.abs(one).max() + 1e-6)
