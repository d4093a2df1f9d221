"""The policy that writes a block at a time, in any order within it (SDAR).

Fixed letters: B rows, P prompt tokens, T completion tokens, C tokens of a
block, L tokens of the blocks that a completion lies in, Q tokens of a suffix.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import chex
import jax
import jax.numpy as jnp

from jaxkern.models import denoising
from jaxkern.models.architecture import Architecture, of_sizes
from jaxkern.models.attention import Kind, with_room
from jaxkern.models.autoregressive import init, row_keys
from jaxkern.models.choose import log_prob, tempered
from jaxkern.models.decoding import as_ends, to_front
from jaxkern.models.denoising import ABSENT, GIVEN, Rule
from jaxkern.models.policy import Policy, Sampled
from jaxkern.models.transformer import Transformer, build, fuse


class Trace(NamedTuple):
  """How a completion came about, in the blocks that it lies in.

  The first block begins with what of the prompt fills no block; the last one
  may end after the completion.

  Attributes:
    tokens: int32 [B, L], as they were seen, those after an end token too.
    steps: int32 [B, L]; the step map: when each was drawn, counted from 1
      through all blocks of the row; `denoising.GIVEN`, `denoising.ABSENT`.
  """

  tokens: chex.Array
  steps: chex.Array


class Options(NamedTuple):
  """What is written with a decoder.

  Attributes:
    rule: how a block is written.
    max_new_tokens: T.
    pad_id: fills a row after its end.
  """

  rule: Rule
  max_new_tokens: int
  pad_id: int


def block_diffusion(
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
  """A small denoiser of one's own sizes as a Policy; see `from_architecture`.

  Its mask is a token of its own after those of the vocabulary.

  Args:
    vocab_size, width, layers, heads, kv_heads, hidden, rope_base, tied: see
      `Transformer`.
    options: those of `from_architecture` but for mask_id.

  Raises:
    ValueError: sizes that do not fit each other.
  """
  architecture = of_sizes(
    vocab_size=vocab_size + 1,
    width=width,
    layers=layers,
    heads=heads,
    kv_heads=kv_heads,
    hidden=hidden,
    rope_base=rope_base,
    tied=tied,
  )
  return from_architecture(architecture, mask_id=vocab_size, **options)


def from_architecture(
  architecture: Architecture,
  *,
  max_new_tokens: int,
  end_id: int | Sequence[int],
  pad_id: int,
  mask_id: int,
  block_size: int = 4,
  steps: int | None = None,
  threshold: float | None = 0.9,
  remat: bool = False,
  attention: Kind = "auto",
  dtype: Any = jnp.float32,
  top_k: int | None = None,
  top_p: float | None = None,
) -> Policy:
  """A block-diffusion denoiser as a Policy.

  Its `trace` is a `Trace`; `log_probs` takes () for a completion that was
  written from left to right, a token at a time.

  Args:
    architecture: of the decoder.
    mask_id: the token that stands for what is not known.
    block_size: C.
    steps: of a block, at most; C if None.
    threshold: a token likelier than that does not wait for a later step; None
      to draw the same number in every step.
    max_new_tokens, end_id, pad_id, remat, attention, dtype, top_k, top_p: see
      `autoregressive.autoregressive`.

  Raises:
    ValueError: mask_id or steps cannot be.
  """
  if not 0 <= mask_id < architecture.vocab_size:
    raise ValueError(
      f"mask_id: expected one of {architecture.vocab_size} tokens, "
      f"got {mask_id}"
    )
  steps = block_size if steps is None else steps
  if not 1 <= steps <= block_size:
    raise ValueError(f"steps: expected 1 to {block_size}, got {steps}")
  model = build(architecture, remat=remat, attention=attention, dtype=dtype)
  rule = Rule(
    block_size, steps, threshold, mask_id, as_ends(end_id), top_k, top_p
  )
  options = Options(rule, max_new_tokens, pad_id)
  return Policy(
    init=jax.jit(functools.partial(init, model)),
    sample=jax.jit(
      functools.partial(_sample, model, options), static_argnames="samples"
    ),
    log_probs=jax.jit(functools.partial(_log_probs, model, rule)),
  )


def infiller(model: Transformer, options: Options) -> Callable[..., Sampled]:
  """What fills holes: jitted (params, keys, prompts, prompt_mask, given,
  known, temperature, suffix=None, suffix_mask=None) -> Sampled.

  Of the T tokens after a prompt, int32 given [B, T], those where known [B, T]
  is not 0 stand; what is drawn sees those of its own and earlier blocks. A
  suffix int32 [B, Q], padded anywhere, stands after the T tokens. It is read
  before they are drawn, so that all of them see it, which `log_probs` does not.
  """
  return jax.jit(functools.partial(_fill, model, options))


def _sample(
  model, options, params, key, prompts, prompt_mask, temperature, samples=1
):
  """See `Policy.sample`: nothing of the completion is known."""
  repeated = lambda x: jnp.repeat(x, samples, axis=0)  # noqa: E731
  model, params = fuse(model, params)
  seen = denoising.read(model, params, prompts, prompt_mask, options.rule.size)
  seen = jax.tree.map(repeated, seen)
  prompts, prompt_mask = repeated(prompts), repeated(prompt_mask)
  nothing = jnp.zeros((len(prompts), options.max_new_tokens), jnp.int32)
  return _written(
    model,
    options,
    params,
    seen,
    row_keys(key, len(prompts)),
    (prompts, prompt_mask, nothing, nothing),
    temperature,
  )


def _fill(
  model,
  options,
  params,
  keys,
  prompts,
  prompt_mask,
  given,
  known,
  temperature,
  suffix=None,
  suffix_mask=None,
):
  """See `infiller`."""
  size = options.rule.size
  model, params = fuse(model, params)
  seen = denoising.read(model, params, prompts, prompt_mask, size)
  if suffix is not None:
    starts = jnp.sum(prompt_mask > 0, axis=1) + options.max_new_tokens
    seen = denoising.commit(
      model, params, seen, suffix, suffix_mask, starts, size
    )
  parts = (prompts, prompt_mask, given, known)
  return _written(model, options, params, seen, keys, parts, temperature)


def _written(model, options, params, seen, keys, parts, temperature):
  """The completion of prompts that were seen."""
  prompts, prompt_mask, given, known = parts
  size = options.rule.size
  given, known = _stretch(prompts, prompt_mask, given, known > 0, size)
  lengths = jnp.sum(prompt_mask > 0, axis=1)
  over = lengths % size
  _, done = denoising.write(
    model,
    params,
    seen,
    given,
    known,
    lengths - over,
    over + options.max_new_tokens,
    keys,
    temperature,
    options.rule,
  )
  at = over[:, None] + jnp.arange(options.max_new_tokens)[None]
  tokens, steps, log_probs = (jnp.take_along_axis(x, at, axis=1) for x in done)
  drawn = steps > GIVEN
  ends = jnp.isin(tokens, jnp.array(options.rule.end_ids, jnp.int32)) & drawn
  before_end = jnp.cumsum(ends, axis=1) - ends == 0
  mask = (drawn & before_end).astype(jnp.float32)
  stands = (steps != ABSENT) & before_end
  return Sampled(
    jnp.where(stands, tokens, options.pad_id),
    mask,
    log_probs * mask,
    Trace(done.tokens, done.steps),
  )


def _stretch(prompts, prompt_mask, given, known, size):
  """What is known of the blocks of a completion, int32 and bool [B, L]."""
  prompt, real = to_front(prompts, prompt_mask > 0)
  lengths = jnp.sum(real, axis=1, keepdims=True)
  new = given.shape[1]
  whole = -(-(new + size - 1) // size) * size
  # The index in the completion; negative in what is left of the prompt.
  index = jnp.arange(whole)[None] - lengths % size
  left = _at(prompt, lengths + index)
  inside = (index >= 0) & (index < new)
  known = (index < 0) | (inside & _at(known, index))
  return jnp.where(index < 0, left, _at(given, index)), known


def _at(x, index):
  """x [B, M] at index [B, L]; anything where there is none."""
  index = jnp.clip(index, 0, x.shape[1] - 1)
  return jnp.take_along_axis(x, index, axis=1)


def _log_probs(
  model, rule, params, prompts, prompt_mask, tokens, mask, trace, temperature
):
  """See `Policy.log_probs`.

  What was drawn in the k-th step of any block is scored at once, from copies of
  the blocks in which that and what came later are masks.
  """
  chex.assert_rank([prompts, prompt_mask, tokens, mask], 2)
  chex.assert_equal_shape([prompts, prompt_mask])
  chex.assert_equal_shape([tokens, mask])
  looks = rule.steps
  if trace == ():
    trace = _left_to_right(prompts, prompt_mask, tokens, mask, rule)
    looks = rule.size
  lengths = jnp.sum(prompt_mask > 0, axis=1)
  starts = lengths - lengths % rule.size
  caches, visible = clean(model, params, prompts, prompt_mask, trace, rule.size)
  rank = _ranks(trace.steps, rule.size)
  targets = jnp.where(trace.steps > GIVEN, trace.tokens, 0)

  @jax.checkpoint
  def look(total, k):
    """Adds the log-probabilities of step k of every block."""
    noisy = jnp.where(rank >= k, rule.mask_id, trace.tokens)
    states = denoise(model, params, noisy, starts, caches, visible)
    logits = model.apply(params, states, method="logits")
    logits = tempered(denoising.hide(logits, rule), temperature)
    found = log_prob(logits, targets)
    return total + jnp.where(rank == k, found, 0.0), None

  total = jnp.zeros(rank.shape, jnp.float32)
  total, _ = jax.lax.scan(look, total, jnp.arange(looks))
  at = (lengths % rule.size)[:, None] + jnp.arange(tokens.shape[1])[None]
  return jnp.where(mask > 0, _at(total, at), 0.0)


def clean(
  model: Transformer,
  params: Any,
  prompts: chex.Array,
  prompt_mask: chex.Array,
  trace: Trace,
  size: int,
) -> tuple[Any, chex.Array]:
  """The clean half: prompt and completion as they stand, block-causal.

  Returns:
    Caches of P + L slots, with room for L more, and what noisy blocks see of
    all slots: bool [B, L, P + 2 L].
  """
  prompt, real = to_front(prompts, prompt_mask > 0)
  lengths = jnp.sum(real, axis=1, keepdims=True)
  starts = lengths - lengths % size
  more = trace.tokens.shape[1]
  at = jnp.arange(prompt.shape[1] + more)[None]
  tokens = jnp.where(
    at < starts, _at(prompt, at), _at(trace.tokens, at - starts)
  )
  positions = jnp.broadcast_to(at, tokens.shape)
  causal = denoising.block_causal(tokens.shape[1], size)
  _, caches = model.apply(params, tokens, positions, causal)
  begins = starts + jnp.arange(more)[None] // size * size
  before = at[:, None] < begins[:, :, None]
  block = jnp.arange(more) // size
  own = jnp.broadcast_to(
    (block[None, :] == block[:, None])[None], (len(tokens), more, more)
  )
  visible = jnp.concatenate([before, own], axis=2)
  return with_room(caches, more), visible


def denoise(
  model: Transformer,
  params: Any,
  noisy: chex.Array,
  starts: chex.Array,
  caches: Any,
  visible: chex.Array,
) -> chex.Array:
  """The noisy half: states [B, L, W] of blocks that see what `clean` says."""
  positions = starts[:, None] + jnp.arange(noisy.shape[1])[None]
  slot = visible.shape[2] - noisy.shape[1]
  return model.apply(params, noisy, positions, visible, caches, slot)[0]


def _left_to_right(prompts, prompt_mask, tokens, mask, rule):
  """The trace of a completion that was written a token at a time."""
  given, known = _stretch(prompts, prompt_mask, tokens, mask > 0, rule.size)
  over = jnp.sum(prompt_mask > 0, axis=1, keepdims=True) % rule.size
  step = jnp.arange(given.shape[1])[None] - over + 1
  steps = jnp.where(known, jnp.maximum(step, GIVEN), ABSENT)
  return Trace(jnp.where(known, given, rule.mask_id), steps)


def _ranks(steps, size):
  """int32 [B, L]: the how-manieth of its block's steps each was drawn at.

  Negative for what was given; what is absent comes after all.
  """
  blocks = steps.reshape(len(steps), -1, size)
  ordered = jnp.where(blocks == ABSENT, jnp.iinfo(jnp.int32).max, blocks)
  # The first of each step is counted, by those that are later.
  same = ordered[..., :, None] == ordered[..., None, :]
  earlier = jnp.tril(jnp.ones((size, size), bool), -1)[None, None]
  first = ~jnp.any(same & earlier, axis=-1) & (ordered > GIVEN)
  smaller = ordered[..., None, :] < ordered[..., :, None]
  rank = jnp.sum(smaller & first[..., None, :], axis=-1)
  return jnp.where(ordered == GIVEN, -1, rank).reshape(steps.shape)
