"""Supervised warm start on a verified corpus."""

import os
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
import optax
import tqdm

from jaxkern.data.corpus import Example
from jaxkern.learning import batch as batches
from jaxkern.learning import update as updates
from jaxkern.learning.batch import Batch
from jaxkern.models.policy import Policy
from jaxkern.rollout import collect, prompts
from jaxkern.tasks import suite
from jaxkern.tokenizer import Tokenizer
from jaxkern.training import memory
from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import Metrics


class Pair(NamedTuple):
  """Token ids of a prompt and of the completion to imitate."""

  prompt: list[int]
  completion: list[int]


def pairs(
  examples: Sequence[Example],
  tokenizer: Tokenizer,
  limit: int,
  longest: int,
  conversation: bool = False,
) -> tuple[list[Pair], list[Pair]]:
  """First turns and repairs of a corpus.

  Args:
    examples: each gives a first turn; one with an attempt, a repair as well.
    tokenizer: text to ids.
    limit: tokens of a prompt at most; see `collect.encode`.
    longest: completions of more tokens are left out.
    conversation: repairs are shown as `Sampler.conversation` shows them.
  """
  first, repair = [], []
  for example in examples:
    completion = [*tokenizer.encode(example.source), tokenizer.end_id]
    if len(completion) > longest:
      continue
    task = suite.get(example.task)
    text = prompts.first_turn(task)
    prompt = collect.encode(tokenizer, text, limit)
    first.append(Pair(prompt, completion))
    if example.attempt is not None:
      told = example.attempt, example.status, example.log
      text = prompts.next_turn(task, *told)
      shown = collect.encode(tokenizer, text, limit)
      if conversation:
        attempt = [*tokenizer.encode(told[0]), tokenizer.end_id]
        more = tokenizer.ask(prompts.reply(*told[1:]), again=True)
        whole = [*prompt, *attempt, *more]
        shown = whole if len(whole) <= limit else shown
      repair.append(Pair(shown, completion))
  return first, repair


def make_batch(
  rows: Sequence[Pair], lengths: Sequence[int], pad_id: int
) -> Batch:
  """Padded rows; completions to `collect.rounded` tokens."""
  tokens, mask = collect.pad_prompts([r.prompt for r in rows], lengths, pad_id)
  longest = max(len(r.completion) for r in rows)
  length = collect.rounded(longest)
  completions = np.full((len(rows), length), pad_id, np.int32)
  completion_mask = np.zeros(completions.shape, np.float32)
  for b, row in enumerate(rows):
    completions[b, : len(row.completion)] = row.completion
    completion_mask[b, : len(row.completion)] = 1
  return Batch(tokens, mask, completions, completion_mask)


def train(
  policy: Policy,
  examples: Sequence[Example],
  tokenizer: Tokenizer,
  directory: str | os.PathLike,
  metrics: Metrics,
  *,
  seed: int,
  steps: int,
  minibatches: int,
  rows: int,
  learning_rate: float,
  clip_norm: float,
  weight_decay: float,
  repairs: float,
  prompt_lengths: Sequence[int],
  longest: int,
  microbatch: int | None,
  shard_optimizer: bool = False,
  conversation: bool = False,
) -> Any:
  """Trains and returns the parameters; continues from `directory`.

  A step is `minibatches` updates, and the state after it is on disk before the
  next begins; what it draws is a function of (seed, step). The learning rate
  falls to a tenth along a cosine.

  Args:
    rows: of a minibatch, all of one kind and of similar length, so that little
      of it is padding.
    shard_optimizer: over the devices; see `updates.replicate`.
    repairs: the share of minibatches that show a broken attempt.
    conversation: see `pairs`.
  """
  kinds = pairs(examples, tokenizer, max(prompt_lengths), longest, conversation)
  kinds = [sorted(kind, key=lambda p: len(p.completion)) for kind in kinds]
  total = steps * minibatches
  schedule = optax.warmup_cosine_decay_schedule(
    0.0, learning_rate, max(1, total // 20), total, learning_rate / 10
  )
  optimizer = updates.make_optimizer(
    schedule, clip_norm=clip_norm, weight_decay=weight_decay
  )
  update = updates.make_update(
    policy, optimizer, updates.imitate, microbatch=microbatch
  )
  params = policy.init(jax.random.key(seed))
  devices = jax.local_device_count()
  with Checkpoints(directory) as checkpoints:
    start, state = checkpoints.restore(updates.init_state(params, optimizer))
    state = updates.replicate(state, shard_optimizer=shard_optimizer)
    if (limit := memory.limit()) is not None and start < steps:
      longest_pair = Pair([0] * max(prompt_lengths), [0] * longest)
      batch = make_batch([longest_pair] * rows, prompt_lengths, 0)
      sharded = batches.shard(batch, devices, microbatch or 1)
      found = memory.need(update, state, sharded)
      memory.check("an update of the warm start", found, limit)
    bar = tqdm.tqdm(total=steps, initial=start, desc="warm start", unit="step")
    for step in range(start, steps):
      began = time.monotonic()
      rng = np.random.default_rng((seed, 1, step))
      updated = []
      for _ in range(minibatches):
        kind = kinds[1] if kinds[1] and rng.random() < repairs else kinds[0]
        batch = make_batch(
          _similar(kind, rows, rng), prompt_lengths, tokenizer.pad_id
        )
        sharded = batches.shard(batch, devices, microbatch or 1)
        state, values = update(state, sharded)
        updated.append(values)
      values = {
        name: float(np.mean([v[name] for v in updated])) for name in updated[0]
      }
      values["tokens"] *= minibatches
      values["tokens_per_s"] = values["tokens"] / (time.monotonic() - began)
      metrics.write(step, values, "sft")
      bar.update()
      bar.set_postfix(loss=f"{values['loss']:.3f}")
      checkpoints.save(step + 1, updates.unreplicate(state))
    bar.close()
  return updates.unreplicate(state.params)


def _similar(
  kind: Sequence[Pair], rows: int, rng: np.random.Generator
) -> list[Pair]:
  """Rows drawn from a random stretch of a list sorted by length."""
  stretch = min(len(kind), 6 * rows)
  start = rng.integers(len(kind) - stretch + 1)
  chosen = rng.choice(stretch, rows, replace=stretch < rows)
  return [kind[start + i] for i in chosen]
