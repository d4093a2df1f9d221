"""An evaluator that says what a test wants, and a proposer with a script."""

import types

from jaxkern.agent import prompt
from jaxkern.agent.proposer import Proposal
from jaxkern.agent.subject import Subject

SUBJECT = Subject(
  problem="bundle",
  name="scale",
  family="arithmetic",
  level=1,
  dtype="float32",
  shapes="n=33",
  summary="y = 2 x",
  signature='extern "C" int launch()',
  start="naive",
)


def result(status="ok", speedup=1.0, log=""):
  """What the search reads of a Result."""
  return types.SimpleNamespace(
    status=status,
    log=log,
    diagnosis="",
    device="cpu: fake",
    times_us=[10.0 / speedup] * 10 if speedup else [],
    baseline_us=10.0,
    speedup=speedup,
    compile_s=0.1,
    run_s=0.1,
    resources=types.SimpleNamespace(
      registers=8, shared_bytes=0, spill_bytes=-1
    ),
  )


class FakeEvaluator:
  """Speedups by source; a source that is not known does not compile."""

  def __init__(self, speedups):
    self.speedups = dict(speedups)
    self.seen: list[str] = []
    self.batches: list[int] = []

  def describe(self):
    return "fake"

  def evaluate(self, requests):
    self.batches.append(len(requests))
    made = []
    for request in requests:
      source = request.source
      self.seen.append(source)
      speedup = self.speedups.get(source)
      if isinstance(speedup, list):  # One value after the other.
        speedup = speedup.pop(0) if len(speedup) > 1 else speedup[0]
      if speedup is None:
        made.append(result("compile_error", 0.0, "line 1: error: no"))
      else:
        made.append(result("ok" if speedup else "wrong_answer", speedup))
    return made


class Scripted:
  """Proposes what it was given, in order."""

  name = "scripted"
  window = None
  system = ""

  def __init__(self, sources):
    self.sources = list(sources)
    self.wishes = []

  def count(self, text):
    return len(text.split())

  def hot(self, *arguments):
    return prompt.hot(*arguments)

  def propose(self, wish):
    self.wishes.append(wish)
    taken = self.sources[: wish.count]
    del self.sources[: wish.count]
    prev = wish.parent.id if wish.parent else ""
    return [
      s if isinstance(s, Proposal) else Proposal(s, prev, f"write {s}")
      for s in taken
    ]
