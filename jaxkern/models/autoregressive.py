"""The policy that writes from left to right.

Fixed letters: B batch, P prompt tokens, T completion tokens, V vocabulary.
"""

from typing import Any

import chex
import jax
import jax.numpy as jnp

from jaxkern.models.policy import Policy, Sampled
from jaxkern.models.transformer import Transformer


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

  `sample` compiles once per shape of prompts, so callers pad prompts to a few
  lengths. It stops as soon as every row has ended, and at temperature 0 takes
  the likeliest token and reports log-probabilities at temperature 1, as
  `log_probs` does.

  Args:
    max_new_tokens: T of `sample`; `log_probs` takes any T.
    end_id: the token that ends a completion.
    pad_id: fills the completion after its end.
    remat: trade time for memory in the gradient of `log_probs`.
    dtype: of activations.

  Raises:
    ValueError: sizes that do not divide.
  """
  if width % heads or heads % kv_heads or (width // heads) % 2:
    raise ValueError(
      "width, heads, kv_heads: expected width / heads to be even and heads a "
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

  def logits_of(params, states):
    return model.apply(params, states, method="logits")

  @jax.jit
  def init(key):
    blank = jnp.zeros((1, 2), jnp.int32)
    return model.init(key, blank, method="initialise")

  @jax.jit
  def sample(params, key, prompts, prompt_mask, temperature):
    chex.assert_rank([prompts, prompt_mask], 2)
    chex.assert_equal_shape([prompts, prompt_mask])
    batch, prompt_length = prompts.shape
    row_keys = jax.vmap(jax.random.fold_in, (None, 0))(key, jnp.arange(batch))

    def choose(t, states):
      logits = logits_of(params, states)
      noise = jax.vmap(
        lambda k: jax.random.gumbel(jax.random.fold_in(k, t), (vocab_size,))
      )(row_keys)
      scaled, greedy = tempered(logits, temperature)
      token = jnp.argmax(scaled + jnp.where(greedy, 0.0, noise), axis=-1)
      return token, taken(scaled, token)

    def write(rows, t, row):
      return jax.lax.dynamic_update_index_in_dim(rows, row, t, axis=0)

    real = prompt_mask > 0
    states, caches = model.apply(
      params, prompts, positions_of(real), causal(real)
    )
    # Room for the completion after the prompt.
    room = [(0, 0), (0, 0), (0, max_new_tokens), (0, 0)]
    caches = jax.tree.map(lambda x: jnp.pad(x, room), caches)
    token, log_prob = choose(0, states[:, -1])
    blank = jnp.zeros((max_new_tokens, batch), jnp.float32)
    tokens = jnp.full((max_new_tokens, batch), pad_id, jnp.int32)
    slots = jnp.arange(prompt_length + max_new_tokens)
    padded = jnp.pad(real, [(0, 0), (0, max_new_tokens)])
    starts = jnp.sum(real, axis=1)

    def going(carry):
      t, alive, *_ = carry
      return (t < max_new_tokens) & jnp.any(alive)

    def step(carry):
      """Feeds token t - 1 to the model and chooses token t."""
      t, alive, caches, tokens, log_probs, mask = carry
      slot = prompt_length + t - 1
      written = (slots >= prompt_length) & (slots <= slot)
      states, caches = model.apply(
        params,
        tokens[t - 1][:, None],
        (starts + t - 1)[:, None],
        (padded | written[None, :])[:, None, :],
        caches,
        slot,
      )
      token, log_prob = choose(t, states[:, 0])
      return (
        t + 1,
        alive & (token != end_id),
        caches,
        write(tokens, t, jnp.where(alive, token, pad_id)),
        write(log_probs, t, jnp.where(alive, log_prob, 0.0)),
        write(mask, t, alive.astype(jnp.float32)),
      )

    carry = (
      1,
      token != end_id,
      caches,
      write(tokens, 0, token),
      write(blank, 0, log_prob),
      write(blank, 0, jnp.ones(batch)),
    )
    *_, tokens, log_probs, mask = jax.lax.while_loop(going, step, carry)
    return Sampled(tokens.T, mask.T, log_probs.T, ())

  @jax.jit
  def log_probs(
    params, prompts, prompt_mask, tokens, mask, trace, temperature
  ):
    del trace  # Always left to right.
    chex.assert_rank([prompts, prompt_mask, tokens, mask], 2)
    real = jnp.concatenate([prompt_mask, mask], axis=1) > 0
    sequence = jnp.concatenate([prompts, tokens], axis=1)
    states, _ = model.apply(params, sequence, positions_of(real), causal(real))
    # Position i predicts token i + 1; the vocabulary is only paid for there.
    first = prompts.shape[1] - 1
    logits = logits_of(params, states[:, first:-1])
    scaled, _ = tempered(logits, temperature)
    return jnp.where(mask > 0, taken(scaled, tokens), 0.0)

  return Policy(init, sample, log_probs)


def positions_of(real: chex.Array) -> chex.Array:
  """Position of each token, int32, counting the real ones: bool [B, L]."""
  return jnp.maximum(jnp.cumsum(real, axis=1) - 1, 0)


def causal(real: chex.Array) -> chex.Array:
  """Bool [B, L, L]: every token sees the real ones up to itself."""
  length = real.shape[1]
  before = jnp.tril(jnp.ones((length, length), bool))
  return before[None] & real[:, None, :]


def tempered(
  logits: chex.Array, temperature: chex.Array
) -> tuple[chex.Array, chex.Array]:
  """Log-probabilities at temperature, at 1 if it is 0; and whether it is 0."""
  greedy = temperature == 0
  scale = jnp.where(greedy, 1.0, temperature)
  return jax.nn.log_softmax(logits / scale, axis=-1), greedy


def taken(log_probs: chex.Array, tokens: chex.Array) -> chex.Array:
  """log_probs [..., V] at tokens [...]."""
  return jnp.take_along_axis(log_probs, tokens[..., None], axis=-1)[..., 0]
