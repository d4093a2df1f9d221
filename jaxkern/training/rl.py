"""The ring: tasks, rollouts, verdicts, advantages, update, round and round."""

import math
import os
import pathlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxkern.learning import batch as batches
from jaxkern.learning import update as updates
from jaxkern.learning.batch import Batch
from jaxkern.learning.reference import scored
from jaxkern.rewards import leap
from jaxkern.rewards.rules import Attempt, Rule, Score
from jaxkern.rollout import collect
from jaxkern.rollout.collect import (
  Evaluate,
  Rollout,
  Sampler,
  Seconds,
  Turn,
)
from jaxkern.tasks import suite
from jaxkern.training import memory, retries
from jaxkern.training.ahead import Ahead, in_turns
from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import Metrics
from jaxkern.training.retries import Failed, Journal


def train(
  sampler: Sampler,
  task_names: Sequence[str],
  evaluate: Evaluate,
  directory: str | os.PathLike,
  metrics: Metrics,
  *,
  seed: int,
  steps: int,
  prompts: int,
  group_size: int,
  turns: int,
  t_min: int,
  t_max: int,
  rule: Rule,
  score: Score,
  learning_rate: float,
  clip_norm: float,
  loss: updates.LossFunction,
  minibatches: int,
  microbatch: int | None,
  staleness: int = 0,
  reference: bool = False,
  retry: Mapping[str, Any] | None = None,
  shard_optimizer: bool = False,
  say: Callable[[str], None] = print,
) -> Any:
  """Reinforces sampler.params by a rule; returns the parameters.

  With the gate and the tournament this is LEAP (arXiv 2608.01804).

  Step k is a function of (seed, k) and the states before it, and the state
  after it is on disk before step k + 1 begins: a run that is killed and started
  again takes the same steps.

  Args:
    prompts: tasks per step, G = group_size rollouts each, K = turns at most.
    t_min, t_max: the gate; see `leap.expand`.
    rule: from a group's attempts to advantages; see `rules.make`.
    score: from a result to a turn's score; see `rules.score`.
    loss: see `updates.reinforce`. It has the probabilities that the sampler
      gave, so that what it corrects for includes the sampler's age.
    minibatches: optimiser steps that a step's rows are split over.
    staleness: steps that are sampled ahead, by parameters so many steps old,
      while kernels are judged; 0 samples with the latest.
    reference: the loss is told the probabilities under sampler.params, too.
    retry: capacity and probability; see `retries.served`.
    shard_optimizer: over the devices; see `updates.replicate`.
    say: prints the line of each step.
  """
  optimizer = updates.make_optimizer(learning_rate, clip_norm=clip_norm)
  update = _make_update(sampler, optimizer, loss, microbatch)
  devices = jax.local_device_count()
  began = time.monotonic()

  writer = sampler
  if staleness:
    writer = sampler._replace(policy=in_turns(sampler.policy))

  def gather(
    step: int, params: Any, failed: Sequence[Failed]
  ) -> tuple[list[list[Rollout]], Seconds, int]:
    """The rollouts of a step, by these parameters and what failed before; how
    many of its groups are repairs."""
    names, _ = _draw(seed, step, task_names, prompts)
    begun = [None] * prompts
    if retry:
      begun = retries.served(failed, step, prompts, seed=seed, **retry)
    groups, seconds = collect.collect(
      writer._replace(params=params),
      jax.random.fold_in(jax.random.key(seed), step),
      [
        suite.get(old.task if old else name)
        for name, old in zip(names, begun, strict=True)
      ],
      evaluate,
      group_size=group_size,
      turns=turns,
      gate=lambda failures: leap.expand(failures, t_min, t_max),
      begun=begun,
    )
    return groups, seconds, sum(old is not None for old in begun)

  with (
    Checkpoints(directory, keep=staleness + 2) as checkpoints,
    Ahead(gather, staleness) as ahead,
  ):
    first = updates.init_state(sampler.params, optimizer)
    start, state = checkpoints.restore(first)
    journal = Journal(pathlib.Path(directory).with_name("failed.jsonl"), start)
    for step in range(start, min(start + staleness, steps)):
      known = max(0, step - staleness)
      old = checkpoints.restore(first, known)[1]
      ahead.begin(step, old.params, journal.before(known))
    state = updates.replicate(state, shard_optimizer=shard_optimizer)
    if (limit := memory.limit()) is not None and start < steps:
      _check_sampling(sampler, state, limit)
    for step in range(start, steps):
      clock = [time.monotonic()]
      if step + staleness < steps:
        params = updates.unreplicate(state.params)
        ahead.begin(step + staleness, params, journal.before(step))
      groups, seconds, retried = ahead.take()
      clock.append(time.monotonic())
      rows = credited_turns(groups, rule, score)
      values, mismatch = {}, None
      rng = _draw(seed, step, task_names, prompts)[1]
      for part in _split(rows, minibatches, rng):
        batch = make_batch(part, sampler)
        if reference:
          batch = scored(
            sampler.policy,
            sampler.params,
            batch,
            microbatch or sampler.rows,
            sampler.temperature,
          )
        sharded = batches.shard(batch, devices, microbatch or 1)
        state, values = update(state, sharded)
        values = {name: float(x) for name, x in values.items()}
        # Of the first part, which the parameters that sampled it have judged.
        mismatch = values["log_ratio"] if mismatch is None else mismatch
      if retry:
        journal.add(retries.all_failed(groups, step))
      checkpoints.save(step + 1, updates.unreplicate(state))
      clock.append(time.monotonic())
      values |= summarise(groups, turns, t_min, t_max)
      values["turns_trained_on"] = len(rows)
      if mismatch is not None:
        values["sampler_mismatch"] = mismatch
      values["staleness"] = min(step, staleness)
      values["groups_retried"] = retried
      values |= _seconds(seconds, clock)
      metrics.write(step, values, "rl")
      left = (time.monotonic() - began) / (step + 1 - start)
      say(_line(step, steps, values, turns, left * (steps - step - 1)))
  return updates.unreplicate(state.params)


def _draw(
  seed: int, step: int, task_names: Sequence[str], prompts: int
) -> tuple[list[str], np.random.Generator]:
  """A step's tasks, and the generator of what else is random in it."""
  rng = np.random.default_rng((seed, 2, step))
  names = rng.choice(task_names, prompts, replace=len(task_names) < prompts)
  return [str(name) for name in names], rng


def _seconds(spent: Seconds, clock: Sequence[float]) -> dict[str, float]:
  """Where a step's time went.

  Args:
    spent: collecting the rollouts.
    clock: when the step began, had its rollouts, and was on disk.
  """
  values = {f"seconds_{name}": x for name, x in spent._asdict().items()}
  values["seconds_waiting"] = clock[1] - clock[0]
  values["seconds_updating"] = clock[2] - clock[1]
  # On the clock; with staleness its parts overlap, and are more than it.
  values["seconds_step"] = clock[2] - clock[0]
  return values


def _check_sampling(sampler: Sampler, state: updates.State, limit: int) -> None:
  """Whether a call with the longest prompts fits beside the state."""
  prompts = np.zeros((sampler.rows, max(sampler.prompt_lengths)), np.int32)
  found = memory.need(
    sampler.policy.sample,
    sampler.params,
    jax.random.split(jax.random.key(0), sampler.rows),
    prompts,
    np.ones(prompts.shape, np.float32),
    sampler.temperature,
  )
  held = sum(x.nbytes for x in jax.tree.leaves(state))
  held //= jax.local_device_count()
  memory.check("a call of the sampler", found, limit, besides=held)


def _make_update(sampler: Sampler, optimizer, loss, microbatch: int | None):
  """The pmapped update at the temperature of the rollouts."""
  return updates.make_update(
    sampler.policy,
    optimizer,
    loss,
    temperature=sampler.temperature,
    microbatch=microbatch,
  )


def credited_turns(
  groups: Sequence[Sequence[Rollout]], rule: Rule, score: Score
) -> list[tuple[Turn, float]]:
  """Every turn with its advantage; those of advantage 0 teach nothing."""
  rows = []
  for group in groups:
    attempts = [
      Attempt(
        np.array([score(turn.result) for turn in rollout.turns]),
        not math.isinf(rollout.success_turn),
      )
      for rollout in group
    ]
    for rollout, credits in zip(group, rule(attempts), strict=True):
      rows += zip(rollout.turns, credits.tolist(), strict=True)
  return [
    (turn, credit)
    for turn, credit in rows
    if credit != 0 and turn.result.status != "infra_error"
  ]


def make_batch(rows: Sequence[tuple[Turn, float]], sampler: Sampler) -> Batch:
  """Rows of one update; completions cut to `collect.rounded` tokens."""
  turns = [turn for turn, _ in rows]
  prompts, prompt_mask = collect.pad_prompts(
    [turn.prompt for turn in turns],
    sampler.prompt_lengths,
    sampler.tokenizer.pad_id,
  )
  # A batch of empty completions still has a shape.
  longest = max(1, *(int(turn.mask.sum()) for turn in turns))
  length = min(collect.rounded(longest), len(turns[0].tokens))
  return Batch(
    prompts,
    prompt_mask,
    np.stack([turn.tokens[:length] for turn in turns]),
    np.stack([turn.mask[:length] for turn in turns]),
    np.stack([turn.log_probs[:length] for turn in turns]),
    np.array([credit for _, credit in rows], np.float32),
    jax.tree.map(lambda *x: np.stack(x), *[turn.trace for turn in turns]),
  )


def summarise(
  groups: Sequence[Sequence[Rollout]], turns: int, t_min: int, t_max: int
) -> dict[str, float]:
  """Pass rates by turn, fate of the groups, statuses of all turns."""
  rollouts = [rollout for group in groups for rollout in group]
  values = {
    f"pass@{k}": float(np.mean([r.success_turn <= k for r in rollouts]))
    for k in range(1, turns + 1)
  }
  failures = [sum(r.success_turn > 1 for r in group) for group in groups]
  values["groups_easy"] = sum(n < t_min for n in failures)
  values["groups_hopeless"] = sum(n > t_max for n in failures)
  values["groups_expanded"] = sum(t_min <= n <= t_max for n in failures)
  statuses = Counter(t.result.status for r in rollouts for t in r.turns)
  values |= {f"status/{status}": n for status, n in sorted(statuses.items())}
  values["cache_hits"] = sum(
    t.result.cache_hit for r in rollouts for t in r.turns
  )
  values["distinct_kernels"] = len(
    {(r.task, t.source) for r in rollouts for t in r.turns}
  )
  for k in range(turns):
    sources = [
      (r.task, r.turns[k].source) for r in rollouts if len(r.turns) > k
    ]
    values[f"turns@{k + 1}"] = len(sources)
    values[f"judged@{k + 1}"] = len(set(sources))
  return values


def _split(rows: list, parts: int, rng: np.random.Generator) -> list[list]:
  """At most `parts` random lists of about equal length, none empty."""
  order = rng.permutation(len(rows))
  return [
    [rows[i] for i in part]
    for part in np.array_split(order, parts)
    if len(part)
  ]


def _line(step: int, steps: int, values: dict, turns: int, left: float) -> str:
  """What a person watching wants to know of a step."""
  passed = "/".join(
    f"{100 * values[f'pass@{k}']:.0f}" for k in range(1, turns + 1)
  )
  return (
    f"rl {step + 1}/{steps}  passed by turn {passed} %  "
    f"groups: {values['groups_expanded']} expanded, "
    f"{values['groups_easy']} easy, {values['groups_hopeless']} hopeless  "
    f"sampling {values['seconds_sampling']:.1f} s, "
    f"evaluating {values['seconds_evaluating']:.1f} s "
    f"(compilers {values['seconds_compiling']:.1f} s, "
    f"runs {values['seconds_running']:.1f} s, "
    f"{values['cache_hits']:.0f} cached), "
    f"updating {values['seconds_updating']:.1f} s  "
    f"{int(left // 60)}:{int(left % 60):02d} left"
  )
