"""The policy that writes from left to right.

Fixed letters: B batch, P prompt tokens, T completion tokens, V vocabulary.
"""

import functools
from typing import Any

import chex
import jax
import jax.numpy as jnp

from jaxkern.models.architecture import Architecture
from jaxkern.models.policy import Policy, Sampled
from jaxkern.models.transformer import Transformer, build, with_room


def autoregressive(
  *,
  vocab_size: int,
  width: int,
  layers: int,
  heads: int,
  kv_heads: int,
  hidden: int,
  max_new_tokens: int,
  end_id: int,
  pad_id: int,
  rope_base: float = 1e4,
  tied: bool = True,
  remat: bool = False,
  dtype: Any = jnp.float32,
) -> Policy:
  """A decoder-only transformer as a Policy; see `Transformer` for its sizes.

  Its functions are jitted. `sample` compiles once per shape of prompts, so
  callers pad prompts to a few lengths. At temperature 0 it takes the likeliest
  token; then, and in `log_probs`, log-probabilities are those at temperature 1.

  Args:
    max_new_tokens: T of `sample`; `log_probs` takes any T.
    end_id: the token that ends a completion.
    pad_id: fills a completion after its end.
    remat: trade time for memory in the gradient of `log_probs`.
    dtype: of activations.

  Raises:
    ValueError: sizes that do not fit each other.
  """
  if width % heads or heads % kv_heads or (width // heads) % 2:
    raise ValueError(
      "width, heads, kv_heads: expected an even width / heads and heads a "
      f"multiple of kv_heads, got {width}, {heads}, {kv_heads}"
    )
  model = Transformer(
    vocab_size=vocab_size,
    width=width,
    layers=layers,
    heads=heads,
    kv_heads=kv_heads,
    head_width=width // heads,
    hidden=hidden,
    rope_base=rope_base,
    tied=tied,
    remat=remat,
    dtype=dtype,
  )
  return _around(model, max_new_tokens, end_id, pad_id)


def from_architecture(
  architecture: Architecture,
  *,
  max_new_tokens: int,
  end_id: int,
  pad_id: int,
  remat: bool = False,
  dtype: Any = jnp.float32,
) -> Policy:
  """The same for a checkpoint's architecture; its parameters are `init`'s kind.

  Args:
    architecture: see `architecture.from_config`.
    max_new_tokens, end_id, pad_id, remat, dtype: see `autoregressive`.
  """
  model = build(architecture, remat=remat, dtype=dtype)
  return _around(model, max_new_tokens, end_id, pad_id)


def _around(
  model: Transformer, max_new_tokens: int, end_id: int, pad_id: int
) -> Policy:
  """The policy that writes with a decoder."""
  ends = {"max_new_tokens": max_new_tokens, "end_id": end_id, "pad_id": pad_id}
  return Policy(
    init=jax.jit(functools.partial(_init, model)),
    sample=jax.jit(functools.partial(_sample, model, **ends)),
    log_probs=jax.jit(functools.partial(_log_probs, model)),
  )


def _init(model, key):
  return model.init(key, jnp.zeros((1, 2), jnp.int32), method="initialise")


def _sample(
  model,
  params,
  key,
  prompts,
  prompt_mask,
  temperature,
  *,
  max_new_tokens,
  end_id,
  pad_id,
):
  """See `Policy.sample`: one pass over the prompts, then a token at a time."""
  chex.assert_rank([prompts, prompt_mask], 2)
  chex.assert_equal_shape([prompts, prompt_mask])
  batch, prompt_length = prompts.shape
  row_keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(batch))

  def choose(t, state):
    """Token t of each row and its log-probability, from states [B, W]."""
    logits = model.apply(params, state, method="logits")
    return _choose(logits, temperature, _fold_each(row_keys, t))

  real = prompt_mask > 0
  states, caches = model.apply(params, prompts, _positions(real), _causal(real))
  caches = with_room(caches, max_new_tokens)
  token, log_prob = choose(0, states[:, -1])

  lengths = jnp.sum(real, axis=1)
  completion = jnp.arange(max_new_tokens)[None, :]

  def going(carry):
    t, alive, *_ = carry
    return (t < max_new_tokens) & jnp.any(alive)

  def step(carry):
    """Feeds token t - 1 to the model and chooses token t."""
    t, alive, caches, tokens, log_probs, mask = carry
    written = jnp.broadcast_to(completion < t, (batch, max_new_tokens))
    states, caches = model.apply(
      params,
      tokens[t - 1][:, None],
      (lengths + t - 1)[:, None],
      jnp.concatenate([real, written], axis=1)[:, None, :],
      caches,
      prompt_length + t - 1,
    )
    token, log_prob = choose(t, states[:, 0])
    return (
      t + 1,
      alive & (token != end_id),
      caches,
      tokens.at[t].set(jnp.where(alive, token, pad_id)),
      log_probs.at[t].set(jnp.where(alive, log_prob, 0.0)),
      mask.at[t].set(alive.astype(jnp.float32)),
    )

  blank = jnp.zeros((max_new_tokens, batch), jnp.float32)
  carry = (
    1,
    token != end_id,
    caches,
    jnp.full(blank.shape, pad_id, jnp.int32).at[0].set(token),
    blank.at[0].set(log_prob),
    blank.at[0].set(1.0),
  )
  *_, tokens, log_probs, mask = jax.lax.while_loop(going, step, carry)
  return Sampled(tokens.T, mask.T, log_probs.T, ())


def _log_probs(
  model, params, prompts, prompt_mask, tokens, mask, trace, temperature
):
  """See `Policy.log_probs`: teacher forcing in one pass."""
  del trace  # The order is always from left to right.
  chex.assert_rank([prompts, prompt_mask, tokens, mask], 2)
  chex.assert_equal_shape([prompts, prompt_mask])
  chex.assert_equal_shape([tokens, mask])
  real = jnp.concatenate([prompt_mask, mask], axis=1) > 0
  sequence = jnp.concatenate([prompts, tokens], axis=1)
  states, _ = model.apply(params, sequence, _positions(real), _causal(real))
  # State i predicts token i + 1; only the completion pays for the vocabulary.
  states = states[:, prompts.shape[1] - 1 : -1]
  logits = model.apply(params, states, method="logits")
  return jnp.where(mask > 0, _taken(_tempered(logits, temperature), tokens), 0)


def _positions(real):
  """Position of each token among the real ones, int32, of bool [B, L]."""
  return jnp.maximum(jnp.cumsum(real, axis=1) - 1, 0)


def _causal(real):
  """Bool [B, L, L]: every token sees the real ones up to itself."""
  length = real.shape[1]
  before = jnp.tril(jnp.ones((length, length), bool))
  return before[None] & real[:, None, :]


def _fold_each(keys, t):
  """A key per row that depends on the row's key and t alone."""
  return jax.vmap(jax.random.fold_in, (0, None))(keys, t)


def _choose(logits, temperature, keys):
  """A token per row of logits [B, V] by the Gumbel trick, its log-probability.

  Every row has its own noise, so that no row depends on its neighbours.
  """
  noise = jax.vmap(lambda k: jax.random.gumbel(k, logits.shape[1:]))(keys)
  log_probs = _tempered(logits, temperature)
  noise = jnp.where(temperature == 0, 0.0, noise)
  tokens = jnp.argmax(log_probs + noise, axis=-1).astype(jnp.int32)
  return tokens, _taken(log_probs, tokens)


def _tempered(logits, temperature):
  """Log-probabilities [..., V] at temperature, or at 1 if that is 0."""
  scale = jnp.where(temperature == 0, 1.0, temperature)
  return jax.nn.log_softmax(logits / scale, axis=-1)


def _taken(log_probs, tokens):
  """log_probs [..., V] at tokens [...]."""
  return jnp.take_along_axis(log_probs, tokens[..., None], axis=-1)[..., 0]
