"""Completions as they end, not when the last of a batch does.

A batch is written in pieces, where the caches are lengthened anyway. Between
two of them the host looks who has ended, and hands these on while the device
writes the next piece of the others.

Fixed letters: B rows, P prompt tokens, T new tokens.
"""

import functools
from collections.abc import Callable, Generator
from typing import Any

import chex
import jax
import jax.numpy as jnp
import numpy as np

from jaxkern.models import decoding
from jaxkern.models.policy import Sampled
from jaxkern.models.transformer import Transformer, fuse


def streamer(
  model: Transformer,
  row_keys: Callable[[chex.PRNGKey, int], chex.PRNGKey],
  *,
  max_new_tokens: int,
  **options: Any,
) -> Callable[..., Generator[tuple[np.ndarray, Sampled], None, Any]]:
  """`Policy.stream` of a decoder.

  Args:
    model: the decoder.
    row_keys: of a key or one per row, a key per row.
    max_new_tokens: T.
    options: those of `decoding.write`.
  """
  read = jax.jit(functools.partial(_read, model), static_argnames="samples")
  read_on = jax.jit(
    lambda params, *rest: decoding.read_on(*fuse(model, params), *rest)
  )
  write = jax.jit(
    functools.partial(_write, model, options), static_argnames="tokens"
  )
  limits = [*decoding.stages(max_new_tokens)[:-1], max_new_tokens]

  def stream(params, key, prompts, mask, temperature, samples=1, said=None):
    """See `Policy.stream`."""
    if said is None:
      state = read(params, prompts, mask, samples=samples)
    else:
      state = read_on(params, said, prompts, mask)
    going = np.ones(len(state.real), bool)
    keys = row_keys(key, len(going))

    def piece(i, state, going):
      """Begins to write up to limits[i]; the device need not be done."""
      first = limits[i - 1] if i else 0
      return write(
        params,
        state,
        keys,
        temperature,
        first,
        going,
        tokens=limits[i] - first,
      )

    written = []
    made = piece(0, state, going)
    while made is not None:
      state, drawn, still = made
      still = np.array(still)  # Waits for the device.
      written.append(jax.device_get(drawn))
      made = None
      if still.any() and len(written) < len(limits):
        made = piece(len(written), state, still)
      else:
        still[:] = False
      ended, going = np.flatnonzero(going & ~still), still
      if ended.size:
        yield ended, _joined(written, ended, max_new_tokens, options["pad_id"])
    return state

  return stream


def _read(model, params, prompts, mask, samples):
  """The state after prompts, each for so many rows."""
  state = decoding.read(*fuse(model, params), prompts, mask)
  return decoding.repeat(state, samples)


def _write(
  model, options, params, state, keys, temperature, first, alive, tokens
):
  """A piece, and which rows go on after it."""
  state, drawn = decoding.write(
    *fuse(model, params),
    state,
    keys,
    temperature,
    max_new_tokens=tokens,
    first=first,
    alive=alive,
    limits=decoding.stages(tokens, 1),
    **options,
  )
  ends = jnp.array(options["end_ids"], jnp.int32)
  ended = jnp.any(drawn.tokens[:, -1:] == ends[None], axis=1)
  return state, drawn, (drawn.mask[:, -1] > 0) & ~ended


def _joined(
  pieces: list[Sampled], rows: np.ndarray, length: int, pad_id: int
) -> Sampled:
  """Some rows of what has been written so far, T tokens long."""
  tokens, mask, log_probs = (
    np.concatenate([getattr(p, name)[rows] for p in pieces], axis=1)
    for name in ("tokens", "mask", "log_probs")
  )
  room = ((0, 0), (0, length - tokens.shape[1]))
  return Sampled(
    np.pad(tokens, room, constant_values=pad_id),
    np.pad(mask, room),
    np.pad(log_probs, room),
    (),
  )
