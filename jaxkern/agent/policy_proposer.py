"""A policy of jaxkern's own as a proposer.

It is asked as it was trained (`rollout.prompts`): the task, or the attempt that
failed and why; experience stands in front of the task, as far as it fits.
"""

import time

import jax

from jaxkern.agent.case import Case
from jaxkern.agent.context import Item, Window
from jaxkern.agent.proposer import Proposal, Wish
from jaxkern.agent.subject import Subject
from jaxkern.rollout import collect, prompts
from jaxkern.tasks.task import Task
from jaxkern.tokenizer import TASK


class PolicyProposer:
  """See the module; implements Proposer."""

  system = ""

  def __init__(self, sampler: collect.Sampler, name: str, seed: int = 0):
    """Samples with what `sampler` holds; `name` is for the graph."""
    self.name = f"policy:{name}"
    self._sampler = sampler
    self._key = jax.random.key(seed)
    self.window = Window(max(sampler.prompt_lengths), 0)

  def count(self, text: str) -> int:
    """By its own tokenizer."""
    return len(self._sampler.tokenizer.encode(text))

  def hot(
    self, subject: Subject, device: str, parent: Case | None, last: Case | None
  ) -> list[Item]:
    """What it was trained to read.

    Raises:
      ValueError: the subject is a bundle, which says too little.
    """
    if not isinstance(subject.problem, Task):
      raise ValueError(
        f"checkpoint: a policy needs a task to write for, got the bundle"
        f" {subject.problem}"
      )
    failed = parent if parent and parent.source and not parent.ok else None
    if failed is None:
      return [Item("hot", "task", prompts.first_turn(subject.problem))]
    text = prompts.next_turn(
      subject.problem, failed.source, failed.status, failed.feedback
    )
    if self.count(text) > self.window.window:  # As in training: start again.
      return [Item("hot", "task", prompts.first_turn(subject.problem))]
    return [Item("hot", "task", text, failed.id)]

  def propose(self, wish: Wish) -> list[Proposal]:
    """Samples `wish.count` kernels from one prompt."""
    placed = wish.prompt.placed
    head = next(p.item.text for p in placed if p.item.tier == "hot")
    known = [p.item.text for p in placed if p.item.tier != "hot"]
    if known:
      head = head.replace(TASK, TASK + "\n".join([*known, ""]), 1)
    sampler, began = self._sampler, time.monotonic()
    ids = collect.encode(sampler.tokenizer, head, max(sampler.prompt_lengths))
    # Always as many rows, of which few may be wanted: one compilation.
    rows = max(sampler.rows, wish.count)
    tokens, mask = collect.pad_prompts(
      [ids] * rows, sampler.prompt_lengths, sampler.tokenizer.pad_id
    )
    self._key, key = jax.random.split(self._key)
    sampled = jax.device_get(
      sampler.policy.sample(
        sampler.params,
        jax.random.split(key, rows),
        tokens,
        mask,
        sampler.temperature,
      )
    )
    seconds = (time.monotonic() - began) / wish.count
    prev = wish.parent.id if wish.parent else ""
    made = []
    for b in range(wish.count):
      written = sampled.tokens[b][sampled.mask[b] > 0]
      source = prompts.extract(sampler.tokenizer.decode(written))
      made.append(
        Proposal(
          source,
          prev,
          "write",
          "",
          len(ids),
          len(written),
          seconds,
          *(
            ()
            if source.strip()
            else ("malformed_answer", "nothing was written")
          ),
        )
      )
    return made
