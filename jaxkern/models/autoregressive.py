"""The policy that writes from left to right.

Fixed letters: B rows, P prompt tokens, T completion tokens, V vocabulary.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxkern.models import decoding, streaming
from jaxkern.models.architecture import Architecture, of_sizes
from jaxkern.models.attention import Kind
from jaxkern.models.choose import log_prob, tempered
from jaxkern.models.policy import Policy
from jaxkern.models.transformer import Transformer, build, fuse

_PIECE = 256  # Tokens of a row whose logits are there at once, with remat.


def autoregressive(
  *,
  vocab_size: int,
  width: int,
  layers: int,
  heads: int,
  kv_heads: int,
  hidden: int,
  rope_base: float = 1e4,
  tied: bool = True,
  **options: Any,
) -> Policy:
  """A small decoder of one's own sizes as a Policy; see `from_architecture`.

  Args:
    vocab_size, width, layers, heads, kv_heads, hidden, rope_base, tied: see
      `Transformer`.
    options: those of `from_architecture`.

  Raises:
    ValueError: sizes that do not fit each other.
  """
  return from_architecture(
    of_sizes(
      vocab_size=vocab_size,
      width=width,
      layers=layers,
      heads=heads,
      kv_heads=kv_heads,
      hidden=hidden,
      rope_base=rope_base,
      tied=tied,
    ),
    **options,
  )


def from_architecture(
  architecture: Architecture,
  *,
  max_new_tokens: int,
  end_id: int | Sequence[int],
  pad_id: int,
  remat: bool = False,
  attention: Kind = "auto",
  dtype: Any = jnp.float32,
  top_k: int | None = None,
  top_p: float | None = None,
) -> Policy:
  """A decoder-only transformer as a Policy.

  Its functions are jitted. `sample` compiles once per shape of prompts, so
  callers pad prompts to a few lengths. At temperature 0 it takes the likeliest
  token; then, and in `log_probs`, log-probabilities are those at temperature 1.

  Args:
    architecture: e.g. a checkpoint's, whose parameters are `init`'s kind.
    max_new_tokens: T of `sample`; `log_probs` takes any T.
    end_id: the token that ends a completion, or several that do.
    pad_id: fills a completion after its end.
    remat: trade time for memory in the gradient of `log_probs`, of blocks and
      of logits.
    attention: see `attention.Kind`.
    dtype: of activations and caches.
    top_k, top_p: see `choose`.
  """
  model = build(architecture, remat=remat, attention=attention, dtype=dtype)
  return around(
    model,
    max_new_tokens=max_new_tokens,
    end_ids=decoding.as_ends(end_id),
    pad_id=pad_id,
    top_k=top_k,
    top_p=top_p,
  )


class Conversation(NamedTuple):
  """Pure functions that take turns; a `State` is what has been said.

  Attributes:
    read: (params, prompts, mask) -> State. Prompts int32 [B, P], padded
      anywhere, mask [B, P] not 0 where they are real.
    read_on: (params, state, prompts, mask) -> State, with more to read.
    write: (params, state, keys, temperature) -> (State, Sampled), with keys
      [B]; the state has read what was written, end tokens too.
  """

  read: Callable[..., decoding.State]
  read_on: Callable[..., decoding.State]
  write: Callable[..., tuple[decoding.State, Any]]


def conversation(
  model: Transformer, *, end_id: int | Sequence[int], **options: Any
) -> Conversation:
  """Turn after turn, of which none is computed again.

  Its functions are jitted, and compile once per shape.

  Args:
    model: the decoder.
    end_id: the token that ends a completion, or several that do.
    options: max_new_tokens, pad_id, top_k, top_p of `decoding.write`.
  """
  ends = decoding.as_ends(end_id)

  def write(params, state, keys, temperature):
    """See `decoding.write`."""
    return decoding.write(
      *fuse(model, params), state, keys, temperature, end_ids=ends, **options
    )

  return Conversation(
    jax.jit(lambda params, *rest: decoding.read(*fuse(model, params), *rest)),
    jax.jit(
      lambda params, *rest: decoding.read_on(*fuse(model, params), *rest)
    ),
    jax.jit(write),
  )


def around(model: Transformer, **options: Any) -> Policy:
  """The policy that writes with a decoder, by options of `decoding.write`."""
  return Policy(
    init=jax.jit(functools.partial(init, model)),
    sample=jax.jit(
      functools.partial(_sample, model, options), static_argnames="samples"
    ),
    log_probs=jax.jit(functools.partial(_log_probs, model)),
    stream=streaming.streamer(model, row_keys, **options),
  )


def init(model: Transformer, key: chex.PRNGKey) -> Any:
  """Parameters of a decoder."""
  return model.init(key, jnp.zeros((1, 2), jnp.int32), method="initialise")


def _sample(
  model, options, params, key, prompts, prompt_mask, temperature, samples=1
):
  """See `Policy.sample`: one pass over the prompts, then a token at a time."""
  model, params = fuse(model, params)
  state = decoding.read(model, params, prompts, prompt_mask)
  state = decoding.repeat(state, samples)
  keys = row_keys(key, len(state.real))
  return decoding.write(model, params, state, keys, temperature, **options)[1]


def row_keys(key: chex.PRNGKey, rows: int) -> chex.PRNGKey:
  """A key per row: those given, or of one key for all."""
  if jnp.ndim(key) == 1:
    chex.assert_shape(key, (rows,))
    return key
  return jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(rows))


def _log_probs(
  model, params, prompts, prompt_mask, tokens, mask, trace, temperature
):
  """See `Policy.log_probs`: teacher forcing in one pass."""
  del trace  # The order is always from left to right.
  chex.assert_rank([prompts, prompt_mask, tokens, mask], 2)
  chex.assert_equal_shape([prompts, prompt_mask])
  chex.assert_equal_shape([tokens, mask])
  real = jnp.concatenate([prompt_mask, mask], axis=1) > 0
  sequence, _ = decoding.to_front(
    jnp.concatenate([prompts, tokens], axis=1), real
  )
  positions = jnp.broadcast_to(jnp.arange(real.shape[1])[None], real.shape)
  states, _ = model.apply(params, sequence, positions)
  # The state before a token predicts it; only the completion pays for the
  # vocabulary.
  before = jnp.cumsum(real, axis=1)[:, prompts.shape[1] :] - 2
  before = jnp.maximum(before, 0)[:, :, None]
  states = jnp.take_along_axis(states, before, axis=1)
  found = _scored(model, params, states, tokens, temperature)
  return jnp.where(mask > 0, found, 0)


def _scored(model, params, states, tokens, temperature):
  """Log-probabilities [B, T] of tokens that states [B, T, W] predict.

  With `remat` a piece at a time, as logits of all tokens and their gradient
  would be larger than all else.
  """

  def score(piece):
    """The same of some tokens."""
    states, tokens = piece
    logits = model.apply(params, states, method="logits")
    return log_prob(tempered(logits, temperature), tokens)

  batch, length = tokens.shape
  if not model.remat or length <= _PIECE:
    return score((states, tokens))
  pieces = -(-length // _PIECE)
  room = pieces * _PIECE - length
  states = jnp.pad(states, ((0, 0), (0, room), (0, 0)))
  tokens = jnp.pad(tokens, ((0, 0), (0, room)))
  parts = jax.tree.map(
    lambda x: x.reshape(batch, pieces, _PIECE, *x.shape[2:]).swapaxes(0, 1),
    (states, tokens),
  )
  found = jax.lax.map(jax.checkpoint(score), parts).swapaxes(0, 1)
  return found.reshape(batch, -1)[:, :length]
