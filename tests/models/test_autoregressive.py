import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxkern import models
from jaxkern.models import autoregressive as autoregressive_module
from jaxkern.models import decoding
from jaxkern.models.autoregressive import autoregressive

PAD, END = 0, 1
VOCAB, NEW = 13, 8
SIZES = dict(width=16, layers=2, heads=4, kv_heads=2, hidden=24)


@functools.cache
def make(**changes):
  options = SIZES | dict(
    vocab_size=VOCAB, max_new_tokens=NEW, end_id=END, pad_id=PAD
  )
  return autoregressive(**(options | changes))


@pytest.fixture(scope="module")
def policy():
  return make()


@pytest.fixture(scope="module")
def params(policy):
  # Larger than at the start of training, so that predictions differ.
  return jax.tree.map(lambda x: 3 * x, policy.init(jax.random.key(0)))


def left_padded(rows, length):
  prompts = np.full((len(rows), length), PAD, np.int32)
  mask = np.zeros((len(rows), length), np.float32)
  for b, row in enumerate(rows):
    prompts[b, length - len(row) :] = row
    mask[b, length - len(row) :] = 1
  return prompts, mask


ROWS = [[2, 3, 4, 5, 6], [7, 8], [9], [3, 3, 3, 10]]


@pytest.fixture(scope="module")
def sampled(policy, params):
  return policy.sample(
    params, jax.random.key(1), *left_padded(ROWS, 5), temperature=1.0
  )


def test_uniform_model_gives_every_token_log_one_over_v(policy, params):
  blank = jax.tree.map(jnp.zeros_like, params)
  prompts, prompt_mask = left_padded([[2, 3]], 2)
  got = policy.log_probs(
    blank, prompts, prompt_mask, np.array([[5, END]]), np.ones((1, 2)), (), 1.0
  )
  np.testing.assert_allclose(got, [[-np.log(13)] * 2], rtol=1e-6)


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
@pytest.mark.parametrize("remat", [False, True])
def test_teacher_forcing_reproduces_the_recorded_log_probs(
  params, temperature, remat
):
  policy = make(remat=remat)
  prompts, prompt_mask = left_padded(ROWS, 5)
  drawn = policy.sample(
    params, jax.random.key(2), prompts, prompt_mask, temperature
  )
  got = policy.log_probs(
    params, prompts, prompt_mask, drawn.tokens, drawn.mask, drawn.trace,
    temperature,
  )  # fmt: skip
  np.testing.assert_allclose(got, drawn.log_probs, atol=1e-4)
  assert (np.asarray(drawn.log_probs)[np.asarray(drawn.mask) > 0] < 0).all()


def test_pieces_of_logits_have_the_same_gradient(monkeypatch, params):
  monkeypatch.setattr(autoregressive_module, "_PIECE", 3)
  prompts, prompt_mask = left_padded(ROWS, 5)
  tokens = np.arange(4 * NEW).reshape(4, NEW) % VOCAB
  rows = prompts, prompt_mask, tokens, np.ones(tokens.shape), (), 1.5

  def scored(remat):
    policy = make(remat=remat, dtype=np.float32)  # Of this test alone.
    loss = lambda p: jnp.mean(policy.log_probs(p, *rows))  # noqa: E731
    return policy.log_probs(params, *rows), jax.grad(loss)(params)

  jax.tree.map(
    lambda x, y: np.testing.assert_allclose(x, y, atol=1e-3, rtol=1e-4),
    scored(True),
    scored(False),
  )


def test_a_completion_ends_at_its_first_end_token(policy, params):
  drawn = policy.sample(
    params, jax.random.key(3), *left_padded(ROWS * 16, 5), temperature=2.0
  )
  tokens, mask = np.asarray(drawn.tokens), np.asarray(drawn.mask)
  lengths = set()
  for row, kept in zip(tokens, mask, strict=True):
    ends = np.flatnonzero(row == END)
    length = ends[0] + 1 if ends.size else NEW
    np.testing.assert_array_equal(kept, np.arange(NEW) < length)
    assert (row[length:] == PAD).all()
    lengths.add(int(length))
  assert len(lengths) > 3
  assert (np.asarray(drawn.log_probs)[mask == 0] == 0).all()


def test_rows_do_not_depend_on_their_neighbours(policy, params, sampled):
  others = [[12, 12], ROWS[1], [5] * 5, [4]]
  again = policy.sample(
    params, jax.random.key(1), *left_padded(others, 5), temperature=1.0
  )
  np.testing.assert_array_equal(again.tokens[1], sampled.tokens[1])
  np.testing.assert_allclose(
    again.log_probs[1], sampled.log_probs[1], atol=1e-5
  )
  assert (np.asarray(again.tokens) != np.asarray(sampled.tokens)).any()


def test_rows_depend_neither_on_batch_size_nor_padding(policy, params, sampled):
  fewer = policy.sample(
    params, jax.random.key(1), *left_padded(ROWS[:2], 9), temperature=1.0
  )
  np.testing.assert_array_equal(fewer.tokens, sampled.tokens[:2])


def test_with_a_key_each_rows_depend_on_nothing_else(policy, params):
  keys = jax.random.split(jax.random.key(9), 4)
  one = policy.sample(params, keys, *left_padded(ROWS, 5), temperature=1.0)
  order = np.array([2, 0, 3])
  other = policy.sample(
    params, keys[order], *left_padded([ROWS[i] for i in order], 7), 1.0
  )
  np.testing.assert_array_equal(other.tokens, one.tokens[order])
  np.testing.assert_array_equal(other.mask, one.mask[order])
  np.testing.assert_allclose(other.log_probs, one.log_probs[order], atol=1e-5)


def test_samples_of_a_prompt_are_those_of_the_prompt_repeated(policy, params):
  key = jax.random.key(10)
  got = policy.sample(params, key, *left_padded(ROWS, 5), 1.0, samples=3)
  rows = [row for row in ROWS for _ in range(3)]
  expected = policy.sample(params, key, *left_padded(rows, 5), 1.0)
  np.testing.assert_array_equal(got.tokens, expected.tokens)
  np.testing.assert_allclose(got.log_probs, expected.log_probs, atol=1e-5)


def test_samples_of_a_prompt_are_read_once(policy, params):
  """The products of reading have as many rows as there are prompts."""
  prompts, mask = left_padded([[2] * 29], 29)
  text = policy.sample.lower(
    params, jax.random.key(0), prompts, mask, 1.0, samples=5
  ).as_text()
  assert "tensor<1x29x24xf32>" in text
  assert "tensor<5x29x24xf32>" not in text


def test_top_k_of_one_is_the_likeliest_at_any_temperature(params):
  prompts = left_padded(ROWS, 5)
  drawn = make(top_k=1).sample(params, jax.random.key(6), *prompts, 2.0)
  greedy = make().sample(params, jax.random.key(6), *prompts, 0.0)
  np.testing.assert_array_equal(drawn.tokens, greedy.tokens)


def test_equal_prompts_draw_different_completions(policy, params):
  drawn = policy.sample(
    params, jax.random.key(4), *left_padded([[2, 3]] * 8, 2), temperature=1.0
  )
  assert len({tuple(row) for row in np.asarray(drawn.tokens)}) > 4


def test_first_tokens_are_drawn_with_their_probabilities(params):
  policy = make(max_new_tokens=1)
  rows = 4096
  prompts, mask = left_padded([[2, 3]] * rows, 2)
  drawn = policy.sample(params, jax.random.key(5), prompts, mask, 1.5)
  expected = np.exp(
    policy.log_probs(
      params, prompts[:VOCAB], mask[:VOCAB], np.arange(VOCAB)[:, None],
      np.ones((VOCAB, 1)), (), 1.5,
    )[:, 0]
  )  # fmt: skip
  assert abs(expected.sum() - 1) < 1e-5
  share = np.bincount(drawn.tokens[:, 0], minlength=VOCAB) / rows
  deviation = np.sqrt(expected * (1 - expected) / rows)
  assert (np.abs(share - expected) < 4.5 * deviation).all()


def test_temperature_zero_takes_the_likeliest_whatever_the_key(policy, params):
  first, second = (
    policy.sample(params, jax.random.key(k), *left_padded(ROWS, 5), 0.0)
    for k in (6, 7)
  )
  np.testing.assert_array_equal(first.tokens, second.tokens)
  prompts, mask = left_padded([ROWS[0]] * VOCAB, 5)
  scores = policy.log_probs(
    params, prompts, mask, np.arange(VOCAB)[:, None], np.ones((VOCAB, 1)), (), 1
  )
  assert first.tokens[0, 0] == np.argmax(scores[:, 0])


def test_sampling_stops_when_every_row_has_ended(monkeypatch, params):
  chosen = []
  choose = decoding.choose

  def counting(*args, **options):
    jax.debug.callback(lambda: chosen.append(1))
    return choose(*args, **options)

  monkeypatch.setattr(decoding, "choose", counting)
  policy = make(max_new_tokens=200)
  drawn = policy.sample(
    params, jax.random.key(8), *left_padded(ROWS, 5), temperature=2.0
  )
  jax.effects_barrier()
  longest = drawn.mask.sum(axis=1).max()
  assert longest <= len(chosen) < longest + decoding._STRIDE < 200


def test_make_builds_the_policy_a_config_describes():
  policy = models.make(
    SIZES | {"max_new_tokens": 4, "dtype": "float32"},
    vocab_size=VOCAB,
    end_id=END,
    pad_id=PAD,
  )
  params = policy.init(jax.random.key(0))
  drawn = policy.sample(params, jax.random.key(0), *left_padded(ROWS, 5), 1.0)
  assert drawn.tokens.shape == (4, 4)


@pytest.mark.parametrize(
  "sizes", [dict(heads=3), dict(kv_heads=3), dict(heads=16, kv_heads=16)]
)
def test_sizes_that_do_not_fit_are_an_error(sizes):
  with pytest.raises(ValueError, match="width, heads, kv_heads: expected"):
    make(**sizes)
