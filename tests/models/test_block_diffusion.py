import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import small_checkpoints as small

from jaxkern import models
from jaxkern.models import block_diffusion, denoising, transformer
from jaxkern.models.architecture import from_config
from jaxkern.models.block_diffusion import Trace
from jaxkern.models.denoising import ABSENT, GIVEN, Rule, replaced

MASK, PAD, END = 47, 0, (3, 5)
NEW = 10
SHAPE = from_config(small.config("sdar"))
# Of all lengths modulo the block's.
ROWS = [[7, 8, 9, 10, 11, 12, 13, 14], [20], [21, 22, 23, 24, 25, 26], [30] * 7]


@functools.cache
def params():
  model = transformer.build(SHAPE)
  made = model.init(
    jax.random.key(0), jnp.zeros((1, 2), jnp.int32), method="initialise"
  )
  return jax.tree.map(lambda x: 2 * x, made)


@functools.cache
def make(**changes):
  options = dict(
    max_new_tokens=NEW, end_id=END, pad_id=PAD, mask_id=MASK, block_size=4
  )
  return block_diffusion.from_architecture(SHAPE, **(options | changes))


def padded(rows, length=9):
  tokens = np.zeros((len(rows), length), np.int32)
  mask = np.zeros((len(rows), length), np.float32)
  for b, row in enumerate(rows):
    tokens[b, length - len(row) :], mask[b, length - len(row) :] = row, 1
  return tokens, mask


@functools.cache
def logits_of():
  """Of one sequence, every block seeing itself and those before."""
  model = transformer.build(SHAPE)

  @functools.partial(jax.jit, static_argnames="size")
  def logits(tokens, visible, size):
    del size
    positions = jnp.arange(tokens.shape[1])[None]
    states, _ = model.apply(params(), tokens, positions, visible)
    return model.apply(params(), states, method="logits")

  return logits


def recomputed(prompt, rule, new, given=None):
  """Greedy writing without a cache: a whole pass for every step."""
  given = given or {}
  total = -(-(len(prompt) + new) // rule.size) * rule.size
  tokens = np.full(total, rule.mask_id)
  tokens[: len(prompt)] = prompt
  steps = np.where(np.arange(total) < len(prompt), GIVEN, ABSENT)
  for i, token in given.items():
    tokens[len(prompt) + i], steps[len(prompt) + i] = token, GIVEN
  found, count = np.zeros(total), 0
  for begin in range(len(prompt) // rule.size * rule.size, total, rule.size):
    now = np.arange(begin, begin + rule.size)
    t = 0
    while (steps[now] == ABSENT).any():
      seen = tokens.copy()
      seen[begin + rule.size :] = rule.mask_id  # Whatever: it is not visible.
      visible = small_mask(total, rule.size)
      logits = np.array(logits_of()(seen[None], visible, rule.size)[0][now])
      logits[:, rule.mask_id] = -np.inf
      best = logits.argmax(axis=1)
      log_probs = logits.max(axis=1) - np.log(np.exp(logits).sum(axis=1))
      order = [i for i in np.argsort(-log_probs) if steps[now[i]] == ABSENT]
      least = rule.size // rule.steps + (t < rule.size % rule.steps)
      sure = rule.threshold is not None
      chosen = [
        i
        for k, i in enumerate(order)
        if k < least or (sure and np.exp(log_probs[i]) > rule.threshold)
      ]
      t += 1
      for i in chosen:
        tokens[now[i]], steps[now[i]] = best[i], count + t
        found[now[i]] = log_probs[i]
    count += t
    drawn = steps[now] > GIVEN
    if np.isin(tokens[now][drawn], rule.end_ids).any():
      break
  return tokens, steps, found


def small_mask(length, size):
  block = np.arange(length) // size
  return (block[None, :] <= block[:, None])[None]


RULES = {
  "static, a token a step": dict(steps=4, threshold=None),
  "static, uneven": dict(steps=3, threshold=None),
  "static, all at once": dict(steps=1, threshold=None),
  "dynamic": dict(steps=4, threshold=0.2),
  "blocks of 3": dict(steps=2, threshold=0.2, block_size=3),
}


@pytest.mark.parametrize("name", RULES)
def test_writing_with_a_cache_equals_recomputing_everything(name):
  options = dict(RULES[name])
  policy = make(**options)
  size = options.pop("block_size", 4)
  rule = Rule(size=size, mask_id=MASK, end_ids=END, **options)
  prompts, mask = padded(ROWS)
  drawn = policy.sample(params(), jax.random.key(0), prompts, mask, 0.0)
  steps_at_once = set()
  for b, prompt in enumerate(ROWS):
    tokens, steps, found = recomputed(prompt, rule, NEW)
    length = int(drawn.mask[b].sum())
    now = slice(len(prompt), len(prompt) + length)
    np.testing.assert_array_equal(drawn.tokens[b, :length], tokens[now])
    np.testing.assert_allclose(
      drawn.log_probs[b, :length], found[now], atol=1e-4
    )
    begin = len(prompt) // size * size
    seen = steps[begin:]
    np.testing.assert_array_equal(drawn.trace.steps[b, : len(seen)], seen)
    assert (drawn.tokens[b, length:] == PAD).all()
    assert length == NEW or tokens[now][-1] in END
    steps_at_once |= set(np.bincount(seen[seen > 0])[1:].tolist())
  if name == "dynamic":
    assert len(steps_at_once) > 1


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("temperature", [0.0, 1.0, 1.7])
def test_scoring_reproduces_what_was_recorded(name, temperature):
  policy = make(**RULES[name])
  prompts, mask = padded(ROWS)
  drawn = policy.sample(params(), jax.random.key(1), prompts, mask, temperature)
  got = policy.log_probs(
    params(), prompts, mask, drawn.tokens, drawn.mask, drawn.trace, temperature
  )
  np.testing.assert_allclose(got, drawn.log_probs, atol=2e-4)
  assert (np.asarray(got)[np.asarray(drawn.mask) > 0] <= 0).all()


def test_without_a_trace_a_completion_was_written_from_left_to_right():
  policy = make(steps=4, threshold=None)
  prompts, mask = padded(ROWS[1:2])
  tokens = np.array([[9, 11, 3]])
  got = policy.log_probs(
    params(), prompts, mask, tokens, np.ones((1, 3)), (), 1.0
  )
  for i in range(3):
    seen = np.full((1, 4), MASK)
    seen[0, : 1 + i] = [20, *tokens[0, :i]]
    logits = np.array(logits_of()(seen, small_mask(4, 4), 4)[0, 1 + i])
    logits[MASK] = -np.inf
    expected = logits[tokens[0, i]] - np.log(np.exp(logits).sum())
    np.testing.assert_allclose(got[0, i], expected, atol=1e-4)


def test_rows_depend_on_their_key_and_prompt_alone():
  policy = make()
  keys = jax.random.split(jax.random.key(3), len(ROWS))
  one = policy.sample(params(), keys, *padded(ROWS), 1.0)
  order = np.array([3, 1])
  other = policy.sample(
    params(), keys[order], *padded([ROWS[i] for i in order], 12), 1.0
  )
  np.testing.assert_array_equal(other.tokens, one.tokens[order])
  np.testing.assert_array_equal(other.trace.steps, one.trace.steps[order])
  repeated = policy.sample(
    params(), keys[np.array([0, 2])], *padded(ROWS[:1]), 1.0, samples=2
  )
  np.testing.assert_array_equal(repeated.tokens[0], one.tokens[0])


def test_a_row_ends_with_the_first_of_any_end_token():
  policy = make(max_new_tokens=40)
  drawn = policy.sample(
    params(), jax.random.key(4), *padded([[7, 8]] * 64), 3.0
  )
  tokens, mask = np.asarray(drawn.tokens), np.asarray(drawn.mask)
  last = set()
  for row, kept, steps in zip(tokens, mask, drawn.trace.steps, strict=True):
    length = int(kept.sum())
    assert not set(row[: length - 1]) & set(END)
    assert (row[length:] == PAD).all() and (kept[:length] == 1).all()
    if length < 40:
      last.add(int(row[length - 1]))
      # Nothing is written after the block of the end.
      assert (steps[-(-(2 + length) // 4) * 4 :] == ABSENT).all()
  assert last == set(END)
  assert MASK not in tokens


def test_confident_masks_are_replaced_and_some_at_least():
  confidence = jnp.array([[0.95, 0.2, 0.91, 0.5], [0.1, 0.3, 0.2, 0.99]])
  masked = jnp.array([[1, 1, 1, 1], [1, 1, 1, 0]], bool)
  got = replaced(confidence, masked, 1, 0.9)
  np.testing.assert_array_equal(got, [[1, 0, 1, 0], [0, 1, 0, 0]])
  got = replaced(confidence, masked, 2, None)
  np.testing.assert_array_equal(got, [[1, 0, 1, 0], [0, 1, 1, 0]])


def test_steps_share_a_block_with_the_remainder_first():
  rule = Rule(size=8, steps=3, threshold=None, mask_id=0)
  assert [int(rule.least(t)) for t in range(3)] == [3, 3, 2]


def fill(**changes):
  model = transformer.build(SHAPE)
  rule = Rule(4, 4, None, MASK, **changes)
  return block_diffusion.infiller(
    model, block_diffusion.Options(rule, NEW, PAD)
  )


def test_known_tokens_stand_and_are_seen():
  given = {1: 40, 2: 41, 8: 42}
  rows = np.zeros((len(ROWS), NEW), np.int32)
  known = np.zeros(rows.shape)
  for i, token in given.items():
    rows[:, i], known[:, i] = token, 1
  keys = jax.random.split(jax.random.key(0), len(ROWS))
  drawn = fill()(params(), keys, *padded(ROWS), rows, known, 0.0)
  rule = Rule(4, 4, None, MASK)
  for b, prompt in enumerate(ROWS):
    tokens, steps, _ = recomputed(prompt, rule, NEW, given)
    now = slice(len(prompt), len(prompt) + NEW)
    np.testing.assert_array_equal(drawn.tokens[b], tokens[now])
    np.testing.assert_array_equal(drawn.mask[b], steps[now] > GIVEN)
  np.testing.assert_array_equal(
    drawn.mask, np.broadcast_to(1 - known, drawn.mask.shape)
  )
  free = fill()(params(), keys, *padded(ROWS), rows, 0 * known, 0.0)
  assert (np.asarray(free.tokens) != np.asarray(drawn.tokens)).any()


def test_a_committed_suffix_is_seen_by_what_is_written_before_it():
  """Against one pass in which the suffix sees the prompt and itself."""
  prompt, suffix = [7, 8, 9, 10], [31, 32, 33, 34, 35, 36]
  nothing = np.zeros((1, NEW), np.int32)
  tokens, mask = padded([suffix], 8)
  drawn = fill()(
    params(),
    jax.random.split(jax.random.key(0), 1),
    *padded([prompt]),
    nothing,
    nothing,
    0.0,
    tokens,
    mask,
  )
  # The first token that was drawn, when nothing else of the hole was there.
  first = int(
    np.argmin(np.where(drawn.mask[0] > 0, drawn.trace.steps[0, :NEW], 99))
  )
  seen = np.array([[*prompt, *[MASK] * 4, *suffix]])
  positions = np.array([[*range(8), *range(4 + NEW, 4 + NEW + 6)]])
  part = np.array([0] * 4 + [1] * 4 + [2] * 6)
  sees = {(0, 0), (1, 0), (1, 1), (1, 2), (2, 0), (2, 2)}
  visible = np.array([[(q, k) in sees for k in part] for q in part])
  block = positions[0] // 4
  both = (part[:, None] == 2) & (part[None] == 2)
  visible &= ~both | (block[None, :] <= block[:, None])
  model = transformer.build(SHAPE)
  states, _ = model.apply(params(), seen, positions, visible[None])
  logits = np.array(model.apply(params(), states, method="logits")[0, 4:8])
  logits[:, MASK] = -np.inf
  found = logits.max(axis=1) - np.log(np.exp(logits).sum(axis=1))
  assert first == np.argmax(found)
  assert drawn.tokens[0, first] == logits[first].argmax()
  np.testing.assert_allclose(drawn.log_probs[0, first], found.max(), atol=1e-4)


def test_the_clean_half_does_not_depend_on_the_noisy_one():
  """In one pass over both, with the mask of SDAR's training."""
  size, length = 4, 16
  tokens = np.asarray(jax.random.randint(jax.random.key(5), (1, length), 6, 40))
  noisy = np.where(np.arange(length)[None] % 3 == 0, MASK, tokens)
  block = np.arange(length) // size
  older = block[None, :] < block[:, None]
  same = block[None, :] == block[:, None]
  nothing = np.zeros_like(same)
  visible = np.block([[older | same, nothing], [older, same]])[None]
  positions = np.concatenate([np.arange(length)] * 2)[None]
  model = transformer.build(SHAPE)
  states, _ = model.apply(
    params(), np.concatenate([tokens, noisy], axis=1), positions, visible
  )
  other, _ = model.apply(
    params(), np.concatenate([tokens, 0 * noisy], axis=1), positions, visible
  )
  np.testing.assert_array_equal(states[:, :length], other[:, :length])
  # And the two halves as the policy computes them, of a prompt of no token.
  trace = Trace(jnp.asarray(tokens), jnp.ones(tokens.shape, jnp.int32))
  prompts = np.zeros((1, 3), np.int32)
  caches, sees = block_diffusion.clean(
    model, params(), prompts, 0 * prompts, trace, size
  )
  got = block_diffusion.denoise(
    model, params(), noisy, jnp.zeros(1, jnp.int32), caches, sees
  )
  np.testing.assert_allclose(got, states[:, length:], atol=1e-4)


def test_every_token_is_a_target_once():
  steps = jnp.array(
    [[0, 2, 1, 1, 5, 3, 4, 3, 6, ABSENT, ABSENT, ABSENT]], jnp.int32
  )
  got = block_diffusion._ranks(steps, 4)
  np.testing.assert_array_equal(got[0, :9], [-1, 1, 0, 0, 2, 0, 1, 0, 0])
  assert (got[0, 9:] > 0).all()


def test_scores_have_gradients():
  policy = make(remat=True)
  prompts, mask = padded(ROWS)
  drawn = policy.sample(params(), jax.random.key(6), prompts, mask, 1.0)

  def loss(params):
    return -jnp.sum(
      policy.log_probs(
        params, prompts, mask, drawn.tokens, drawn.mask, drawn.trace, 1.0
      )
    )

  for leaf in jax.tree.leaves(jax.grad(loss)(params())):
    assert jnp.isfinite(leaf).all() and jnp.any(leaf != 0)


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"mask_id": 48}, "mask_id: expected one of 48 tokens, got 48"),
    ({"steps": 5}, "steps: expected 1 to 4, got 5"),
  ],
)
def test_what_cannot_be_is_an_error(changes, message):
  with pytest.raises(ValueError, match=message):
    make(**changes)


def test_few_and_long_caches_write_the_same():
  policy = make(max_new_tokens=130)
  assert len(denoising._limits(transformer.build(SHAPE), 9, 132, 4)) > 1
  prompts, mask = padded([[7, 8]])
  drawn = policy.sample(params(), jax.random.key(0), prompts, mask, 1.0)
  got = policy.log_probs(
    params(), prompts, mask, drawn.tokens, drawn.mask, drawn.trace, 1.0
  )
  np.testing.assert_allclose(got, drawn.log_probs, atol=2e-4)


def test_a_config_with_a_block_size_is_a_denoiser():
  sizes = dict(width=16, layers=1, heads=4, kv_heads=2, hidden=24)
  policy = models.make(
    sizes | {"block_size": 4, "steps": 2, "max_new_tokens": 6},
    vocab_size=13,
    end_id=(1, 4),
    pad_id=0,
  )
  params = policy.init(jax.random.key(0))
  drawn = policy.sample(params, jax.random.key(0), *padded([[2, 3]], 2), 1.0)
  assert drawn.tokens.shape == (1, 6) and (drawn.tokens < 13).all()
  assert drawn.trace.steps.shape == (1, 12)
  # The mask's row is the last.
  assert params["params"]["embed"]["embedding"].shape == (14, 16)


def test_a_checkpoint_of_sdar_is_a_denoiser(tmp_path):
  path = small.write(tmp_path, "sdar")
  config = {"checkpoint": str(path), "max_new_tokens": NEW, "threshold": None}
  options = {"vocab_size": 48, "end_id": END, "pad_id": PAD}
  with pytest.raises(ValueError, match="mask_id: expected a token <|MASK|>"):
    models.make(config, **options)
  policy = models.make(config | {"mask_id": MASK}, **options)
  prompts = padded(ROWS)
  drawn = policy.sample(
    policy.init(jax.random.key(0)), jax.random.key(0), *prompts, 0.0
  )
  assert (drawn.mask.sum(axis=1) > 0).all()
  assert jnp.max(drawn.trace.steps) > 1
