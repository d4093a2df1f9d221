"""Turns that go on with what was said: what is read, and how often."""

import math
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from jaxkern import models
from jaxkern.data.corpus import Example
from jaxkern.models.policy import Policy
from jaxkern.rollout import collect, prompts
from jaxkern.tasks import suite
from jaxkern.tokenizer import Tokenizer
from jaxkern.training import sft

TASKS = ("relu", "tanh")


@pytest.fixture(scope="module")
def tokenizer():
  return Tokenizer.train(["a"], 300)


@pytest.fixture(scope="module")
def policy(tokenizer):
  return models.make(
    dict(width=16, layers=2, heads=2, kv_heads=1, hidden=16, max_new_tokens=6),
    vocab_size=tokenizer.vocab_size,
    end_id=tokenizer.end_ids,
    pad_id=tokenizer.pad_id,
  )


@pytest.fixture(scope="module")
def params(policy):
  return policy.init(jax.random.key(0))


def evaluate(pairs):
  """Nothing passes; what is said of it depends on its length."""
  return [
    SimpleNamespace(
      status="timeout" if len(source) % 2 else "wrong_answer",
      log="x" * (len(source) % 3),
      compile_s=0.0,
      queue_s=0.0,
      run_s=0.0,
    )
    for _, source in pairs
  ]


def run(policy, params, tokenizer, rows=4, lengths=(32, 256), turns=3):
  sampler = collect.Sampler(
    policy, params, tokenizer, lengths, rows, 1.0, conversation=True
  )
  groups, _ = collect.collect(
    sampler,
    jax.random.key(0),
    [suite.get(name) for name in TASKS],
    evaluate,
    group_size=2,
    turns=turns,
    gate=lambda failures: True,
  )
  return [rollout for group in groups for rollout in group]


def test_a_turn_reads_all_that_was_said_before(policy, params, tokenizer):
  for rollout in run(policy, params, tokenizer):
    assert math.isinf(rollout.success_turn) and len(rollout.turns) == 3
    first, *later = rollout.turns
    text = prompts.first_turn(suite.get(rollout.task))
    assert first.prompt == tokenizer.encode(text)
    for before, turn in zip(rollout.turns, later, strict=False):
      said = [*before.prompt, *before.tokens[before.mask > 0]]
      told = prompts.reply(before.result.status, before.result.log)
      assert turn.prompt == [*said, *tokenizer.encode(told)]


def test_what_the_sampler_thought_is_what_the_trainer_reads(
  policy, params, tokenizer
):
  for rollout in run(policy, params, tokenizer):
    for turn in rollout.turns:
      tokens, mask = collect.pad_prompts([turn.prompt], (256,), 0)
      wanted = policy.log_probs(
        params, tokens, mask, turn.tokens[None], turn.mask[None], (), 1.0
      )
      np.testing.assert_allclose(turn.log_probs, wanted[0], atol=2e-5)


def test_later_turns_read_nothing_twice(policy, params, tokenizer):
  read = []

  def stream(params, keys, tokens, mask, *arguments, **options):
    """Keeps how much is read, and whether a conversation goes on."""
    read.append((int(mask.sum(axis=1).max()), "said" in options))
    return (
      yield from policy.stream(
        params, keys, tokens, mask, *arguments, **options
      )
    )

  rollouts = run(policy._replace(stream=stream), params, tokenizer)
  [first, *later] = [rollouts[0].turns[0], *rollouts[0].turns[1:]]
  replies = [
    len(tokenizer.encode(prompts.reply(t.result.status, t.result.log)))
    for r in rollouts
    for t in r.turns
  ]
  assert [said for _, said in read] == [False, True, True]
  assert read[0][0] >= len(first.prompt)
  assert all(count <= max(replies) for count, _ in read[1:])
  assert len(later[-1].prompt) > 2 * max(replies)


@pytest.mark.parametrize("rows", [1, 2])
def test_a_conversation_does_not_depend_on_who_shares_its_call(
  rows, policy, params, tokenizer
):
  def written(rows):
    """All tokens of all turns."""
    return [
      [turn.tokens.tolist() for turn in rollout.turns]
      for rollout in run(policy, params, tokenizer, rows)
    ]

  assert written(rows) == written(4)


def test_one_that_is_too_long_begins_anew_with_its_latest_attempt(
  policy, params, tokenizer
):
  task = suite.get("relu")
  longest = len(tokenizer.encode(prompts.first_turn(task))) + 60
  for rollout in run(policy, params, tokenizer, lengths=(longest,)):
    for before, turn in zip(rollout.turns, rollout.turns[1:], strict=False):
      assert len(turn.prompt) <= longest
      text = prompts.next_turn(
        suite.get(rollout.task),
        before.source,
        before.result.status,
        before.result.log,
      )
      more = prompts.reply(before.result.status, before.result.log)
      whole = len(before.prompt) + int(before.mask.sum())
      whole += len(tokenizer.encode(more))
      anew = collect.encode(tokenizer, text, longest)
      assert (turn.prompt == anew) == (whole > longest)


def test_a_policy_without_a_cache_to_go_on_with_reads_it_all(
  policy, params, tokenizer
):
  whole = Policy(policy.init, policy.sample, policy.log_probs)
  expected = run(policy, params, tokenizer)
  got = run(whole, params, tokenizer)
  assert [[t.prompt for t in r.turns] for r in got] == [
    [t.prompt for t in r.turns] for r in expected
  ]


@pytest.mark.parametrize("limit", [400, 100])
def test_the_warm_start_shows_repairs_as_conversations(limit, tokenizer):
  example = Example("relu", "good", "bad", "timeout", "too slow")
  _, [repair] = sft.pairs([example], tokenizer, limit, 50, conversation=True)
  _, [latest] = sft.pairs([example], tokenizer, limit, 50)
  if limit == 100:
    assert repair == latest
    return
  task = suite.get("relu")
  assert repair.prompt == [
    *tokenizer.encode(prompts.first_turn(task)),
    *tokenizer.encode("bad"),
    tokenizer.end_id,
    *tokenizer.encode(prompts.reply("timeout", "too slow")),
  ]
  assert repair.completion == latest.completion
