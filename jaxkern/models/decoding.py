"""Reading prompts and writing after them, with a cache of what was read.

A conversation is a `State`: rows of slots, of which some are real and the
others padding that nobody sees, so that every row writes into the same slot.
Reading more and writing more continue it without computing anything again.

Fixed letters: B rows, S slots, P prompt tokens, T new tokens, W width.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxkern.models.attention import Cache, with_room
from jaxkern.models.choose import choose
from jaxkern.models.decode_attention import BLOCK
from jaxkern.models.policy import Sampled
from jaxkern.models.transformer import Transformer

# Tokens between two looks at whether all rows have ended, each of which makes
# a GPU wait for its host.
_STRIDE = 4
# New tokens for which the caches are lengthened at once. A step reads all of
# its caches, so that short ones are fast; every length is compiled.
_STAGES, _SHORTEST_STAGE = 4, 64


class State(NamedTuple):
  """What rows have read and written so far.

  Attributes:
    caches: one per layer, S slots.
    real: bool [B, S]; which slots hold tokens of the row.
    hidden: [B, W]; the state that predicts the next token.
  """

  caches: tuple[Cache, ...]
  real: chex.Array
  hidden: chex.Array

  @property
  def lengths(self) -> chex.Array:
    """int32 [B]: tokens so far, the position of the next."""
    return jnp.sum(self.real, axis=1)


def as_ends(end_id: int | Sequence[int]) -> tuple[int, ...]:
  """One end token or several, as a tuple."""
  return (end_id,) if isinstance(end_id, int) else tuple(map(int, end_id))


def to_front(
  tokens: chex.Array, real: chex.Array
) -> tuple[chex.Array, chex.Array]:
  """Rows [B, P] with their real tokens first, wherever they were.

  What is causal then needs no mask: no real token has padding before it.
  """
  order = jnp.argsort(~real, axis=1, stable=True)
  moved = jnp.take_along_axis(tokens, order, axis=1)
  return moved, jnp.take_along_axis(real, order, axis=1)


def read(
  model: Transformer, params: Any, prompts: chex.Array, mask: chex.Array
) -> State:
  """One pass over prompts int32 [B, P], of which mask [B, P] is not 0."""
  chex.assert_rank([prompts, mask], 2)
  chex.assert_equal_shape([prompts, mask])
  tokens, real = to_front(prompts, mask > 0)
  positions = jnp.broadcast_to(jnp.arange(tokens.shape[1])[None], tokens.shape)
  states, caches = model.apply(params, tokens, positions)
  return State(caches, real, _last(states, real))


def read_on(
  model: Transformer,
  params: Any,
  state: State,
  prompts: chex.Array,
  mask: chex.Array,
) -> State:
  """Reads more: prompts int32 [B, P]; rows without any stay as they are."""
  chex.assert_rank([prompts, mask], 2)
  chex.assert_equal_shape([prompts, mask])
  slots, more = state.real.shape[1], prompts.shape[1]
  tokens, real = to_front(prompts, mask > 0)
  positions = state.lengths[:, None] + jnp.arange(more)[None]
  before = jnp.broadcast_to(state.real[:, None], (len(real), more, slots))
  among = jnp.broadcast_to(
    jnp.tril(jnp.ones((1, more, more), bool)), (len(real), more, more)
  )
  states, caches = model.apply(
    params,
    tokens,
    positions,
    jnp.concatenate([before, among], axis=2),
    with_room(state.caches, more),
    slots,
  )
  hidden = jnp.where(real[:, :1], _last(states, real), state.hidden)
  return State(caches, jnp.concatenate([state.real, real], axis=1), hidden)


def repeat(state: State, samples: int) -> State:
  """Every row `samples` times, one after the other."""
  return jax.tree.map(lambda x: jnp.repeat(x, samples, axis=0), state)


def write(
  model: Transformer,
  params: Any,
  state: State,
  keys: chex.Array,
  temperature: chex.Array | float,
  *,
  max_new_tokens: int,
  end_ids: tuple[int, ...],
  pad_id: int,
  top_k: int | None = None,
  top_p: float | None = None,
  first: chex.Array | int = 0,
  alive: chex.Array | None = None,
  limits: Sequence[int] | None = None,
) -> tuple[State, Sampled]:
  """Draws a token at a time until every row has ended.

  Token t of a row depends on what the row has read, its key and t alone.

  Args:
    model, params: the decoder; `fuse` makes it faster.
    state: what to continue.
    keys: [B].
    temperature: see `choose`.
    max_new_tokens: T.
    end_ids: tokens that end a row.
    pad_id: fills a row after its end.
    top_k, top_p: see `choose`.
    first: number of the first token, in a row that was begun before.
    alive: bool [B]; rows that have not ended, all by default.
    limits: up to which token each length of the caches is enough; `stages` by
      default.
  """
  rows, slots = state.real.shape
  ends = jnp.array(end_ids, jnp.int32)
  limits = limits or stages(max_new_tokens)
  alive = jnp.ones(rows, bool) if alive is None else alive
  if model.attention == "fused":  # Reads what is filled, however much is empty.
    limits = [-(-(slots + limits[-1]) // BLOCK) * BLOCK - slots]

  def step(t, carry):
    """Chooses token t and feeds it to the model."""
    alive, state, drawn = carry
    logits = model.apply(params, state.hidden, method="logits")
    folded = jax.vmap(jax.random.fold_in, (0, None))(keys, first + t)
    token, log_prob = choose(
      logits, temperature, folded, top_k=top_k, top_p=top_p
    )
    drawn = _record(drawn, t, alive, (token, log_prob), pad_id)
    real = _put(state.real, slots + t, alive, axis=1)
    states, caches = model.apply(
      params,
      token[:, None],
      state.lengths[:, None],
      real[:, None],
      state.caches,
      slots + t,
      jnp.where(alive, slots + t + 1, 0),
    )
    hidden = jnp.where(alive[:, None], states[:, 0], state.hidden)
    ended = jnp.any(token[:, None] == ends[None], axis=1)
    alive = alive & ~ended & (t + 1 < max_new_tokens)
    return alive, State(caches, real, hidden), drawn

  def stride(carry):
    """Some steps: rows that have ended stay as they are."""
    t, *rest = carry
    # From 0, as only a number of steps that is known needs no look.
    rest = jax.lax.fori_loop(
      0, _STRIDE, lambda i, carry: step(t + i, carry), tuple(rest)
    )
    return t + _STRIDE, *rest

  blank = jnp.zeros((limits[-1], rows), jnp.float32)
  drawn = Sampled(blank.astype(jnp.int32) + pad_id, blank, blank, ())
  *_, state, drawn = in_stages(
    limits,
    lambda carry, stop: (carry[0] < stop) & jnp.any(carry[1]),
    stride,
    (0, alive, state, drawn),
    lambda carry, more: (*carry[:2], _lengthened(carry[2], more), carry[3]),
  )
  return state, jax.tree.map(lambda x: x[:max_new_tokens].T, drawn)


def stages(max_new_tokens: int, most: int = _STAGES) -> list[int]:
  """Up to which token each of at most so many lengths of the caches is
  enough."""
  count = max(1, min(most, max_new_tokens // _SHORTEST_STAGE))
  return [
    -(-max_new_tokens * (i + 1) // (count * _STRIDE)) * _STRIDE
    for i in range(count)
  ]


def in_stages(
  limits: Sequence[int],
  going: Callable[[Any, int], chex.Array],
  body: Callable[[Any], Any],
  carry: Any,
  lengthen: Callable[[Any, int], Any],
) -> Any:
  """A loop for each length of the caches.

  Args:
    limits: up to which token each is enough, rising.
    going: (carry, limit) -> whether to go on.
    body: carry -> carry.
    carry: at the start, with no room for new tokens.
    lengthen: (carry, slots) -> carry with so much more room.
  """
  held = 0
  for limit in limits:
    carry = jax.lax.while_loop(
      lambda carry, limit=limit: going(carry, limit),
      body,
      lengthen(carry, limit - held),
    )
    held = limit
  return carry


def _lengthened(state, slots):
  """Empty slots for what will be written."""
  real = jnp.pad(state.real, ((0, 0), (0, slots)))
  return State(with_room(state.caches, slots), real, state.hidden)


def _record(drawn, t, alive, chosen, pad_id):
  """What was drawn, [T, B], with token t."""
  token, log_prob = chosen
  return Sampled(
    _put(drawn.tokens, t, jnp.where(alive, token, pad_id)),
    _put(drawn.mask, t, alive.astype(jnp.float32)),
    _put(drawn.log_probs, t, jnp.where(alive, log_prob, 0.0)),
    (),
  )


def _put(x, i, new, axis=0):
  """x with `new` at i along an axis."""
  return jax.lax.dynamic_update_index_in_dim(x, new, i, axis)


def _last(states, real):
  """The state [B, W] of each row's last real token, which come first."""
  last = jnp.maximum(jnp.sum(real, axis=1) - 1, 0)
  return jnp.take_along_axis(states, last[:, None, None], axis=1)[:, 0]
