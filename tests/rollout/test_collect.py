"""A policy that writes 'a' and an evaluator that passes on schedule."""

import math
from types import SimpleNamespace

import jax
import numpy as np
import pytest

from jaxkern import models
from jaxkern.models.policy import Policy, Sampled
from jaxkern.rollout import collect
from jaxkern.tasks import suite
from jaxkern.tokenizer import Tokenizer


@pytest.fixture(scope="module")
def tokenizer():
  return Tokenizer.train(["a"], 300)


def sampler_of(tokenizer, rows=4, calls=None):
  letter, end = tokenizer.encode("a")[0], tokenizer.end_id

  def sample(params, keys, prompts, prompt_mask, temperature, samples=1):
    if calls is not None:
      calls.append(prompts.shape)
    written = len(prompts) * samples
    assert keys.shape == (written,)
    tokens = np.full((written, 3), tokenizer.pad_id, np.int32)
    tokens[:, :2] = letter, end
    mask = np.array([[1, 1, 0]] * written, np.float32)
    return Sampled(tokens, mask, -mask, ())

  policy = Policy(init=None, sample=sample, log_probs=None)
  return collect.Sampler(policy, None, tokenizer, (128, 512), rows, 1.0)


def verdicts(*rounds):
  """Evaluates by script: per turn, statuses in the order of tasks' names."""
  script = iter(rounds)

  def evaluate(pairs):
    statuses = next(script)
    names = [task.name for task, _ in pairs]  # In the order of sampling.
    assert len(names) == len(statuses)
    places = np.argsort(np.argsort(names, kind="stable"), kind="stable")
    return [
      SimpleNamespace(
        status=statuses[place], log="", compile_s=1.0, queue_s=0.25, run_s=0.5
      )
      for place in places
    ]

  return evaluate


def run(sampler, evaluate, tasks=("relu", "tanh"), turns=3, gate=None):
  return collect.collect(
    sampler,
    jax.random.key(0),
    [suite.get(name) for name in tasks],
    evaluate,
    group_size=2,
    turns=turns,
    gate=gate or (lambda failures: True),
  )


def test_failures_are_repaired_until_they_pass(tokenizer):
  evaluate = verdicts(
    ["ok", "compile_error", "wrong_answer", "timeout"],
    ["ok", "wrong_answer", "wrong_answer"],
    ["ok", "wrong_answer"],
  )
  groups, seconds = run(sampler_of(tokenizer), evaluate)
  turns = [[r.success_turn for r in group] for group in groups]
  assert turns == [[1, 2], [3, math.inf]]
  assert [len(r.turns) for r in groups[1]] == [3, 3]
  # 2 + 2 + 1 distinct kernels, the others being equal to one of their turn.
  assert seconds[2:] == (5.0, 1.25, 2.5)


def test_a_cheat_is_a_failure_like_any_other(tokenizer):
  evaluate = verdicts(["cheating", "ok"], ["cheating"], ["cheating"])
  groups, _ = run(sampler_of(tokenizer), evaluate, tasks=("relu",))
  assert [r.success_turn for r in groups[0]] == [math.inf, 1]


def test_the_gate_sees_first_turn_failures_and_stops_pruned_groups(tokenizer):
  seen = []

  def gate(failures):
    seen.append(failures)
    return failures == 1

  evaluate = verdicts(["ok", "timeout", "timeout", "timeout"], ["ok"])
  groups, _ = run(sampler_of(tokenizer), evaluate, gate=gate)
  assert seen == [1, 2]
  assert [len(r.turns) for group in groups for r in group] == [1, 2, 1, 1]


def test_a_repair_prompt_holds_the_attempt_and_its_status(tokenizer):
  evaluate = verdicts(["timeout"] * 4, ["ok"] * 4)
  groups, _ = run(sampler_of(tokenizer), evaluate)
  prompt = tokenizer.decode(groups[0][0].turns[1].prompt)
  assert prompt.endswith("atimeout") and "jax.nn.relu" in prompt


def test_completions_are_handed_over_while_others_are_sampled(tokenizer):
  calls, before = [], []

  def evaluate(pairs):
    results = []
    for task, source in pairs:
      before.append(len(calls))  # Of the sampler, when this one came.
      results.append(SimpleNamespace(status=f"{task.name} {source}", log=""))
      results[-1].compile_s = results[-1].queue_s = results[-1].run_s = 0.0
    return results

  groups, seconds = run(
    sampler_of(tokenizer, rows=1, calls=calls), evaluate, turns=1
  )
  assert before == [1, 2, 3, 4]
  statuses = [[r.turns[0].result.status for r in group] for group in groups]
  assert statuses == [["relu a"] * 2, ["tanh a"] * 2]
  assert seconds.sampling > 0


def test_rows_are_padded_to_few_shapes(tokenizer):
  calls = []
  evaluate = verdicts(["ok"] * 6)
  run(
    sampler_of(tokenizer, rows=4, calls=calls),
    evaluate,
    tasks=("relu", "tanh", "relu"),
  )
  assert calls == [(2, 128), (2, 128)]  # Each for two rows of a group.


@pytest.mark.parametrize("rows", [2, 3, 4])
def test_a_completion_does_not_depend_on_who_shares_its_call(tokenizer, rows):
  policy = models.make(
    dict(width=8, layers=1, heads=2, kv_heads=1, hidden=8, max_new_tokens=6),
    vocab_size=tokenizer.vocab_size,
    end_id=tokenizer.end_ids,
    pad_id=tokenizer.pad_id,
  )
  params = policy.init(jax.random.key(0))

  def written(rows):
    """What 4 rows of two groups write when so many share a call."""
    sampler = collect.Sampler(policy, params, tokenizer, (128, 512), rows, 1.0)
    groups, _ = run(sampler, verdicts(["ok"] * 4), turns=1)
    return [r.turns[0].tokens.tolist() for group in groups for r in group]

  assert written(rows) == written(1)
  assert len(set(map(str, written(1)))) == 4


def test_pad_prompts_pads_on_the_left_to_the_smallest_length_that_fits():
  tokens, mask = collect.pad_prompts([[5, 6], [7]], (1, 3, 8), pad_id=0)
  assert tokens.tolist() == [[0, 5, 6], [0, 0, 7]]
  assert mask.tolist() == [[0, 1, 1], [0, 0, 1]]


def test_a_long_prompt_loses_its_middle(tokenizer):
  ids = collect.encode(tokenizer, "abcdefgh", 4)
  assert ids == tokenizer.encode("abc") + tokenizer.encode("h")
