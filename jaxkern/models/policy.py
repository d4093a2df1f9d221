"""The contract of a policy: a NamedTuple of pure functions.

Rollout, learning and training hold a `Policy` and never ask whether it is an
autoregressive decoder or a block-diffusion denoiser.

Fixed letters: B batch, P prompt tokens, T completion tokens.
"""

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

import chex


class Sampled(NamedTuple):
  """A batch of completions.

  Attributes:
    tokens: int32 [B, T]; the completion, its end token included, then padding.
    mask: float32 [B, T]; 1 where a token was sampled (the end token included).
    log_probs: float32 [B, T]; of each sampled token at the temperature it was
      sampled with; 0 where mask is 0.
    trace: opaque pytree with leading axis B; what `log_probs` needs to know of
      the order in which the tokens were chosen. () for autoregressive policies.
  """

  tokens: chex.Array
  mask: chex.Array
  log_probs: chex.Array
  trace: Any


class Policy(NamedTuple):
  """Pure functions; parameters are an explicit pytree.

  Attributes:
    init: key -> params.
    sample: (params, key, prompts, prompt_mask, temperature, samples=1) ->
      Sampled, with prompts int32 [B, P], padded on the left, prompt_mask
      float32 [B, P]. Prompt b is read once and written after in the rows from
      b * samples on. Row r depends on (key, r) and its own prompt only; with a
      key per row, [B * samples], on its key and prompt alone, whatever else is
      in the batch. Temperature 0 takes the likeliest token; log-probabilities
      are then those at temperature 1.
    log_probs: (params, prompts, prompt_mask, tokens, mask, trace,
      temperature) -> float32 [B, T], log-probability of each token given all
      that was visible when it was chosen; 0 where mask is 0.
    stream: as `sample`, but a generator of (rows, Sampled) on the host, which
      gives rows soon after they have ended, each once; None if a policy ends
      all rows together. It returns what has been said, a pytree of leading axis
      B; called with that as `said`, or with some rows of it, it reads prompts
      as what is said next, and computes nothing again.
  """

  init: Callable[..., Any]
  sample: Callable[..., Sampled]
  log_probs: Callable[..., chex.Array]
  stream: Callable[..., Generator[tuple[Any, Sampled], None, Any]] | None = None
