"""Writing block by block: a block begins as masks, which are replaced.

Blocks are cut at whole multiples of their size, counted from the first token of
the prompt, as in training (SDAR). What of a prompt is left over stands in the
first block that is written and is never masked, like any token that is given.
A logit predicts the token of its own position.

Fixed letters: B rows, P prompt tokens, C tokens of a block, L tokens of the
blocks that are written, N steps of a block, Q tokens of a suffix, V vocabulary.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxkern.models.attention import Cache, with_room
from jaxkern.models.choose import choose
from jaxkern.models.decode_attention import BLOCK
from jaxkern.models.decoding import in_stages, stages, to_front
from jaxkern.models.transformer import Transformer

ABSENT, GIVEN = -1, 0


class Rule(NamedTuple):
  """How a block is written.

  Attributes:
    size: C.
    steps: N; step t replaces C / N masks, one more while there is a remainder,
      those whose token is likeliest.
    threshold: a mask whose token is likelier than that is replaced, too (SDAR's
      dynamic strategy); None for never (its static one).
    mask_id: stands for what is not known; never drawn.
    end_ids: a row ends with the block in which one of these is drawn.
    top_k, top_p: see `choose`. What is likeliest is likeliest among all tokens.
  """

  size: int
  steps: int
  threshold: float | None
  mask_id: int
  end_ids: tuple[int, ...] = ()
  top_k: int | None = None
  top_p: float | None = None

  def least(self, t: chex.Array | int) -> chex.Array:
    """How many masks step t replaces at least."""
    return self.size // self.steps + (t < self.size % self.steps)


class Seen(NamedTuple):
  """What rows have read and written: whole blocks.

  Attributes:
    caches: one per layer, S slots.
    real: bool [B, S]; which slots hold tokens of the row.
  """

  caches: tuple[Cache, ...]
  real: chex.Array


class Stretch(NamedTuple):
  """Tokens of whole blocks and how they came about.

  Attributes:
    tokens: int32 [B, L]; the mask where there is none.
    steps: int32 [B, L]; the step at which each was drawn, counted from 1
      through all blocks of the row; GIVEN; ABSENT.
    log_probs: float32 [B, L]; 0 of what was not drawn.
  """

  tokens: chex.Array
  steps: chex.Array
  log_probs: chex.Array


def block_causal(length: int, size: int) -> chex.Array:
  """Bool [1, L, L]: every token sees its block and those before."""
  block = jnp.arange(length) // size
  return (block[None, :] <= block[:, None])[None]


def read(
  model: Transformer,
  params: Any,
  prompts: chex.Array,
  mask: chex.Array,
  size: int,
) -> Seen:
  """Reads the whole blocks of prompts int32 [B, P], of which mask is not 0."""
  chex.assert_rank([prompts, mask], 2)
  chex.assert_equal_shape([prompts, mask])
  tokens, real = to_front(prompts, mask > 0)
  at = jnp.arange(tokens.shape[1])[None]
  visible = block_causal(tokens.shape[1], size)
  positions = jnp.broadcast_to(at, tokens.shape)
  _, caches = model.apply(params, tokens, positions, visible)
  lengths = jnp.sum(real, axis=1, keepdims=True)
  return Seen(caches, at < lengths - lengths % size)


def commit(
  model: Transformer,
  params: Any,
  seen: Seen,
  suffix: chex.Array,
  mask: chex.Array,
  starts: chex.Array,
  size: int,
) -> Seen:
  """Reads what will stand after the blocks to be written, which then see it.

  Not as denoisers are trained, which see nothing of later blocks.

  Args:
    model, params: the decoder.
    seen: what the suffix sees besides itself.
    suffix, mask: int32 and float32 [B, Q].
    starts: int32 [B]; the suffix's first position.
    size: C.
  """
  tokens, real = to_front(suffix, mask > 0)
  slots, more = seen.real.shape[1], tokens.shape[1]
  positions = starts[:, None] + jnp.arange(more)[None]
  block = positions // size
  among = (block[:, None, :] <= block[:, :, None]) & real[:, None]
  before = jnp.broadcast_to(seen.real[:, None], (*tokens.shape, slots))
  _, caches = model.apply(
    params,
    tokens,
    positions,
    jnp.concatenate([before, among], axis=2),
    with_room(seen.caches, more),
    slots,
  )
  return Seen(caches, jnp.concatenate([seen.real, real], axis=1))


def write(
  model: Transformer,
  params: Any,
  seen: Seen,
  given: chex.Array,
  known: chex.Array,
  starts: chex.Array,
  lengths: chex.Array,
  keys: chex.Array,
  temperature: chex.Array | float,
  rule: Rule,
) -> tuple[Seen, Stretch]:
  """Writes blocks until every row has ended.

  Args:
    model, params: the decoder.
    seen: what rows have read.
    given, known: int32 and bool [B, L], L a multiple of C; known ones stand.
    starts: int32 [B]; the position of given[:, 0].
    lengths: int32 [B]; a row needs no block from there on.
    keys: [B].
    temperature: see `choose`.
    rule: how.
  """
  chex.assert_rank([given, known, starts, lengths, keys], [2, 2, 1, 1, 1])
  chex.assert_equal_shape([given, known])
  slots, length = seen.real.shape[1], given.shape[1]
  writer = _Writer(model, params, rule, keys, temperature, starts, slots)
  blank = Stretch(
    jnp.where(known, given, rule.mask_id),
    jnp.where(known, GIVEN, ABSENT),
    jnp.zeros(given.shape, jnp.float32),
  )

  def going(carry, limit):
    """Whether there is another block to write at this length of caches."""
    n, _, alive, *_ = carry
    return (n < min(limit, length) // rule.size) & jnp.any(alive)

  def one(carry):
    """Writes block n."""
    n, count, alive, seen, done = carry
    seen, block, count = writer.block(n, count, alive, seen, done)
    ended = jnp.isin(block.tokens, jnp.array(rule.end_ids, jnp.int32))
    ended = jnp.any(ended & (block.steps > GIVEN), axis=1)
    needed = (n + 1) * rule.size < lengths
    done = jax.tree.map(
      lambda whole, part: _put(whole, part, n * rule.size), done, block
    )
    return n + 1, count, alive & needed & ~ended, seen, done

  *_, seen, done = in_stages(
    _limits(model, slots, length, rule.size),
    going,
    one,
    (0, jnp.zeros(len(given), jnp.int32), lengths > 0, seen, blank),
    lambda carry, more: (*carry[:3], _lengthened(carry[3], more), carry[4]),
  )
  return seen, done


def replaced(
  confidence: chex.Array,
  masked: chex.Array,
  least: chex.Array | int,
  threshold: float | None,
) -> chex.Array:
  """Bool [B, C]: the masks that get their token.

  Args:
    confidence: [B, C]; the probability of each position's token.
    masked: bool [B, C].
    least: how many at least, the most confident first, where there are so many.
    threshold: and those that are more confident than this.
  """
  order = jnp.argsort(jnp.where(masked, -confidence, 1.0), axis=1, stable=True)
  rank = jnp.argsort(order, axis=1)
  chosen = rank < least
  if threshold is not None:
    chosen |= confidence > threshold
  return chosen & masked


class _Writer(NamedTuple):
  """What does not change from block to block."""

  model: Transformer
  params: Any
  rule: Rule
  keys: chex.Array
  temperature: chex.Array | float
  starts: chex.Array
  slots: int  # Of what was read.

  def block(self, n, count, alive, seen, done):
    """Writes block n of rows that are alive: (seen, its `Stretch`, count).

    Count is of steps so far [B].
    """
    size = self.rule.size
    block = jax.tree.map(
      lambda x: jax.lax.dynamic_slice_in_dim(x, n * size, size, 1), done
    )
    now = jnp.broadcast_to(alive[:, None], block.tokens.shape)
    real = _put(seen.real, now, self.slots + n * size)

    def unfinished(carry):
      """Whether a row that matters has a mask."""
      _, block, _ = carry
      return jnp.any(now & (block.steps == ABSENT))

    def step(carry):
      """Draws a token for every mask and keeps some."""
      t, block, caches = carry
      states, caches = self.look(n, alive, real, block.tokens, caches)
      tokens, log_probs = self.draw(states, n * self.rule.steps + t)
      chosen = now & replaced(
        jnp.exp(log_probs),
        block.steps == ABSENT,
        self.rule.least(t),
        self.rule.threshold,
      )
      new = Stretch(tokens, (count + t + 1)[:, None], log_probs)
      block = jax.tree.map(lambda x, y: jnp.where(chosen, x, y), new, block)
      return t + 1, block, caches

    _, block, caches = jax.lax.while_loop(
      unfinished, step, (0, block, seen.caches)
    )
    # Once more, so that later blocks see the keys and values of what stands.
    _, caches = self.look(n, alive, real, block.tokens, caches)
    count = jnp.maximum(count, jnp.max(block.steps, axis=1))
    return Seen(caches, real), block, count

  def look(self, n, alive, real, tokens, caches):
    """States [B, C, W] of block n, and caches that hold it."""
    begin = n * self.rule.size
    positions = (self.starts + begin)[:, None] + jnp.arange(tokens.shape[1])[
      None
    ]
    slot = self.slots + begin
    filled = jnp.where(alive, slot + self.rule.size, 0)
    return self.model.apply(
      self.params, tokens, positions, real[:, None], caches, slot, filled
    )

  def draw(self, states, t):
    """A token for every position and its log-probability, [B, C]."""
    size, rule = self.rule.size, self.rule
    logits = hide(self.model.apply(self.params, states, method="logits"), rule)
    fold = jax.vmap(jax.random.fold_in, (0, None))
    keys = jax.vmap(fold, (None, 0), 1)(fold(self.keys, t), jnp.arange(size))
    tokens, log_probs = choose(
      logits.reshape(-1, logits.shape[-1]),
      self.temperature,
      keys.reshape(-1),
      top_k=rule.top_k,
      top_p=rule.top_p,
    )
    shape = logits.shape[:2]
    return tokens.reshape(shape), log_probs.reshape(shape)


def hide(logits: chex.Array, rule: Rule) -> chex.Array:
  """Logits of which the mask has none."""
  is_mask = jnp.arange(logits.shape[-1]) == rule.mask_id
  is_mask = jnp.expand_dims(is_mask, range(logits.ndim - 1))
  return jnp.where(is_mask, -jnp.inf, logits)


def _put(whole, part, at):
  """[B, L] with [B, C] at a place."""
  return jax.lax.dynamic_update_slice_in_dim(whole, part, at, 1)


def _lengthened(seen, slots):
  """Empty slots for what will be written."""
  real = jnp.pad(seen.real, ((0, 0), (0, slots)))
  return Seen(with_room(seen.caches, slots), real)


def _limits(model, slots, length, size) -> Sequence[int]:
  """For how many tokens each length of the caches is enough."""
  if model.attention == "fused":
    return [-(-(slots + length) // BLOCK) * BLOCK - slots]
  return sorted({min(-(-s // size) * size, length) for s in stages(length)})
