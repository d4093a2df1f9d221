import random
import re

import pytest

from jaxkern.agent import context
from jaxkern.agent.context import Item, Window, pack
from jaxkern.agent.graph import Graph


def words(text):
  return len(re.findall(r"\S+|\n\n", text))


def quarters(text):
  """A tokenizer that joins over seams: four characters are a token."""
  return -(-len(text) // 4)


def item(tier, size, case=""):
  return Item(tier, "case" if case else "x", " ".join(["w"] * size), case)


def test_budget_is_what_is_left_of_the_window_and_never_negative():
  assert Window(1000, 200, 100).budget(50) == 650
  assert Window(100, 200).budget(50) == 0


def test_hot_that_does_not_fit_says_by_how_much():
  with pytest.raises(context.HotDoesNotFit, match="30 tokens, 10 more than"):
    pack([item("hot", 30)], Window(20, 0), 0, words)


def test_hot_comes_first_and_whole_whatever_the_order():
  prompt = pack(
    [item("cold", 2), item("warm", 3), item("hot", 4), item("hot", 5)],
    Window(100, 0),
    0,
    words,
  )
  assert [p.item.tier for p in prompt.placed] == ["hot", "hot", "warm", "cold"]
  assert prompt.left_out == ()


def test_warm_and_cold_keep_to_their_shares():
  items = [item("warm", 10, str(k)) for k in range(10)]
  items += [item("cold", 10, str(k)) for k in range(10)]
  prompt = pack(items, Window(100, 0, 0, 0.5, 0.2), 0, words)
  tiers = [p.item.tier for p in prompt.placed]
  assert (tiers.count("warm"), tiers.count("cold")) == (4, 1)
  assert len(prompt.left_out) == 15


def test_a_limit_makes_arms_cost_the_same():
  items = [item("warm", 10, str(k)) for k in range(10)]
  prompt = pack(items, Window(1000, 0), 0, words, limit=33)
  assert prompt.tokens <= 33
  assert len(prompt.cases) == 3


@pytest.mark.parametrize("count", [words, quarters])
@pytest.mark.parametrize("seed", range(60))
def test_whatever_the_items_the_budget_holds(count, seed):
  rng = random.Random(seed)
  items = [
    item(rng.choice(context.TIERS), rng.randrange(30), str(k))
    for k in range(rng.randrange(25))
  ]
  window = Window(
    rng.randrange(400), rng.randrange(60), 5, rng.random(), rng.random()
  )
  system = rng.randrange(30)
  hot = [i for i in items if i.tier == "hot"]
  try:
    prompt = pack(items, window, system, count)
  except context.HotDoesNotFit:
    assert count("\n\n".join(i.text for i in hot)) > window.budget(system)
    return
  assert count(prompt.text) == prompt.tokens <= prompt.budget
  shown = [p.item for p in prompt.placed]
  assert shown[: len(hot)] == hot
  assert sorted(map(id, (*shown, *prompt.left_out))) == sorted(map(id, items))
  ends = [p.first + p.tokens for p in prompt.placed]
  assert all(e <= prompt.tokens for e in ends)
  starts = [p.first for p in prompt.placed]
  assert all(e <= s for e, s in zip(ends, starts[1:], strict=False))


def test_a_stored_token_leads_to_the_case_it_came_from():
  items = [item("hot", 5), item("warm", 4, "abc"), item("warm", 3, "def")]
  prompt = pack(items, Window(100, 0), 0, words)
  # 5 words, a seam, 4 words, a seam, 3 words.
  assert prompt.origin(6).case == "abc"
  assert prompt.origin(5) is None
  with Graph(":memory:") as graph:
    number = context.remember(graph, prompt, "s", 3, "active")
    assert context.origin(graph, number, 0) == ("hot", "x", "")
    assert context.origin(graph, number, 9) == ("warm", "case", "abc")
    assert context.origin(graph, number, 11) == ("warm", "case", "def")
    with pytest.raises(ValueError, match="token: expected one of prompt 1"):
      context.origin(graph, number, 14)
