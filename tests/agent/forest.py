"""Cases to try the graph with."""

from jaxkern.agent.case import Case


def case(speedup=1.0, prev="", **changes) -> Case:
  """A case that worked, or failed if its speedup is 0."""
  defaults = {
    "task": "softmax_f16",
    "family": "softmax",
    "status": "ok" if speedup else "wrong_answer",
    "speedup": speedup,
    "strategy": "lanes:8",
    "confidence": 1.0,
  }
  return Case(prev=prev, **{**defaults, **changes})
