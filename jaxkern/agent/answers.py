"""Models that answer in text: what they are asked, how answers are read."""

import re
from collections.abc import Callable
from typing import NamedTuple

from jaxkern.agent import prompt
from jaxkern.agent.proposer import Proposal, Wish
from jaxkern.rollout import prompts

_STRATEGY = re.compile(r"STRATEGY:[ \t]*(.+)")
_RECALL = re.compile(r"^\s*RECALL:[ \t]*(.+)$", re.MULTILINE)
_RECALLS = 3  # questions to the graph before a kernel is due
_WORDS = 120  # characters of a strategy


class Answer(NamedTuple):
  """What a model wrote, or what went wrong.

  Attributes:
    text: the answer; what there is of it after a fault.
    tokens_in, tokens_out, seconds: its cost.
    fault, said: as a Proposal's.
  """

  text: str
  tokens_in: int = 0
  tokens_out: int = 0
  seconds: float = 0.0
  fault: str = ""
  said: str = ""


def system_text(passive: bool) -> str:
  """The text before every prompt; the passive arm's says how to ask."""
  return f"{prompt.SYSTEM}\n{prompt.RECALL}" if passive else prompt.SYSTEM


def converse(
  wish: Wish, ask: Callable[[list[dict]], list[Answer]]
) -> list[Proposal]:
  """One kernel: asks, answers what the model wants to know, and asks again.

  Args:
    wish: with a prompt.
    ask: messages (role, content) to the answers of one request: those of tries
      that failed, and the last one.

  Returns:
    A proposal per answer that is no question.
  """
  messages = [
    {"role": "system", "content": system_text(wish.recall is not None)},
    {"role": "user", "content": wish.prompt.text},
  ]
  made: list[Proposal] = []
  spent_in = spent_out = 0
  for turn in range(_RECALLS + 1):
    *failed, last = ask(messages)
    made += [read(wish, answer) for answer in failed]
    question = _RECALL.search(last.text)
    wants = wish.recall is not None and question and "```" not in last.text
    if last.fault or not wants or turn == _RECALLS:
      kernel = read(wish, last)
      made.append(
        kernel._replace(
          tokens_in=kernel.tokens_in + spent_in,
          tokens_out=kernel.tokens_out + spent_out,
        )
      )
      return made
    spent_in += last.tokens_in
    spent_out += last.tokens_out
    messages += [
      {"role": "assistant", "content": last.text},
      {"role": "user", "content": wish.recall(question.group(1))},
    ]
  raise AssertionError("the last turn returns")


def read(wish: Wish, answer: Answer) -> Proposal:
  """The proposal in an answer: text only, nothing of it is executed here."""
  strategy = _STRATEGY.search(answer.text)
  words = strategy.group(1).strip() if strategy else ""
  made = Proposal(
    "",
    wish.parent.id if wish.parent else "",
    words[:_WORDS],
    words,
    answer.tokens_in,
    answer.tokens_out,
    answer.seconds,
    answer.fault,
    answer.said,
  )
  if answer.fault:
    return made
  source = prompts.extract(answer.text).strip()
  if "launch" not in source or "{" not in source:
    return made._replace(
      fault="malformed_answer",
      said=f"expected a fenced kernel with launch, got {answer.text[:300]!r}",
    )
  return made._replace(source=source + "\n")
