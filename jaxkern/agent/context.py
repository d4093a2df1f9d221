"""What a model is shown: hot, warm and cold, never more than fits.

B_k = max(0, W - S - G - R): the window less the system's text, room for the
answer, and a reserve. Hot items are needed; where they do not fit, that is an
error which says by how much. Warm items get a share of B_k in their order, cold
ones a share of what is left (KOPE, 2608.25570, 5.4).
"""

import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from jaxkern.agent.graph import Graph

TIERS = ("hot", "warm", "cold")
_SEPARATOR = "\n\n"


class HotDoesNotFit(ValueError):
  """The mandatory part is larger than the budget."""


class Item(NamedTuple):
  """A piece of a prompt.

  Attributes:
    tier: of TIERS.
    kind: what it is, e.g. 'task', 'incumbent', 'feedback', 'case', 'journal'.
    text: the words.
    case: id of the case it came from; '' for none.
  """

  tier: str
  kind: str
  text: str
  case: str = ""


class Window(NamedTuple):
  """A model's window and how it is divided, in tokens.

  Attributes:
    window: W, all that the model can see.
    generation: G, kept free for the answer.
    reserve: R, kept free for what is said later in the turn.
    warm, cold: the most of B_k that these may take.
  """

  window: int
  generation: int
  reserve: int = 0
  warm: float = 0.4
  cold: float = 0.15

  def budget(self, system: int) -> int:
    """B_k, where the system's text has `system` tokens."""
    return max(0, self.window - system - self.generation - self.reserve)


class Placed(NamedTuple):
  """An item in a prompt: its tokens are [first, first + tokens)."""

  item: Item
  first: int
  tokens: int


class Prompt(NamedTuple):
  """A prompt and what it is made of.

  Attributes:
    text: the whole.
    tokens: of it.
    budget: B_k.
    placed: its items in order.
    left_out: items that did not fit.
  """

  text: str
  tokens: int
  budget: int
  placed: tuple[Placed, ...]
  left_out: tuple[Item, ...]

  @property
  def cases(self) -> list[str]:
    """Ids of the cases that it shows, in order."""
    return [p.item.case for p in self.placed if p.item.kind == "case"]

  def origin(self, token: int) -> Item | None:
    """The item that a token belongs to; None between two."""
    for item, first, tokens in self.placed:
      if first <= token < first + tokens:
        return item
    return None


def pack(
  items: Sequence[Item],
  window: Window,
  system: int,
  count: Callable[[str], int],
  limit: int | None = None,
) -> Prompt:
  """The prompt of all hot items and of the others that fit, hot first.

  Args:
    items: warm and cold ones each in the order of their worth.
    window: the model's.
    system: tokens of the system's text.
    count: tokens of a text, by the model's own tokenizer.
    limit: of warm and cold tokens together, where arms are to cost the same.

  Raises:
    HotDoesNotFit: the hot items are larger than B_k.
  """
  budget = window.budget(system)
  chosen = [item for item in items if item.tier == "hot"]
  hot = count(_joined(chosen))
  if hot > budget:
    raise HotDoesNotFit(
      f"context: hot items have {hot} tokens, {hot - budget} more than the"
      f" {budget} there are of a window of {window.window}"
    )
  left_out: list[Item] = []
  used = hot
  for tier, share in (("warm", window.warm), ("cold", window.cold)):
    most = min(budget - used, int(share * budget))
    if limit is not None:
      most = min(most, limit - (used - hot))
    start = used
    for item in (item for item in items if item.tier == tier):
      # Counted as a whole: a tokenizer may join what meets at a seam.
      total = count(_joined([*chosen, item]))
      if total - start <= most and total <= budget:
        chosen.append(item)
        used = total
      else:
        left_out.append(item)
  return Prompt(
    _joined(chosen), used, budget, _placed(chosen, count), tuple(left_out)
  )


def _joined(items: Sequence[Item]) -> str:
  return _SEPARATOR.join(item.text for item in items)


def _placed(items: Sequence[Item], count) -> tuple[Placed, ...]:
  """Where each item's tokens are, by counting prefixes of the text."""
  placed, before = [], 0
  for k, item in enumerate(items):
    text = _joined(items[: k + 1])
    after = count(text)
    start = count(text[: len(text) - len(item.text)]) if k else 0
    first = min(max(before, start), after)
    placed.append(Placed(item, first, after - first))
    before = after
  return tuple(placed)


def remember(
  graph: Graph, prompt: Prompt, session: str, step: int, arm: str
) -> int:
  """Stores what a prompt was made of; returns its number in the graph."""
  with graph.transaction():
    number = graph.database.execute(
      "INSERT INTO prompts (session, step, arm, budget, tokens, created)"
      " VALUES (?, ?, ?, ?, ?, ?)",
      (session, step, arm, prompt.budget, prompt.tokens, time.time()),
    ).lastrowid
    graph.database.executemany(
      "INSERT INTO prompt_items VALUES (?, ?, ?, ?, ?, ?, ?)",
      [
        (number, k, p.item.tier, p.item.kind, p.item.case, p.first, p.tokens)
        for k, p in enumerate(prompt.placed)
      ],
    )
  return number


def origin(graph: Graph, prompt: int, token: int) -> tuple[str, str, str]:
  """(tier, kind, case) of the item a stored prompt's token belongs to.

  Raises:
    ValueError: no item has that token.
  """
  row = graph.database.execute(
    'SELECT tier, kind, "case" FROM prompt_items WHERE prompt = ?'
    " AND first <= ? AND ? < first + tokens",
    (prompt, token, token),
  ).fetchone()
  if row is None:
    raise ValueError(f"token: expected one of prompt {prompt}, got {token}")
  return row
