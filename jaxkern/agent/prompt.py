"""What models are told: the system's text, the hot items, and how to answer."""

from jaxkern.agent import limits
from jaxkern.agent.case import Case
from jaxkern.agent.context import Item
from jaxkern.agent.subject import Subject

SYSTEM = """\
You make one CUDA C++ kernel faster. Answer with one complete translation unit
in a fenced block, which defines the given extern "C" int launch(...) on device
pointers and returns cudaGetLastError(). Own kernels only: no libraries, no
files, no assembler for the host. First say in one line, after `STRATEGY:`,
what you change and why."""
RECALL = """\
Experience with earlier kernels is at hand: answer with a single line
`RECALL: words` instead, and what is known is shown to you."""
_FEEDBACK = 1500


def hot(
  subject: Subject, device: str, parent: Case | None, last: Case | None
) -> list[Item]:
  """What a prompt must have: task, kernel so far, feedback, target."""
  made = [
    Item(
      "hot",
      "task",
      f"# Task {subject.name}\n{subject.summary}\nsizes: {subject.shapes}\n"
      f"{subject.signature}",
    )
  ]
  if parent is not None:
    state = (
      f"{parent.speedup:.3g}x the naive kernel"
      if parent.ok
      else f"it failed: {parent.status}"
    )
    made.append(
      Item(
        "hot",
        "incumbent",
        f"# The kernel so far ({state})\n```\n{parent.source}\n```",
        parent.id,
      )
    )
    if known := limits.words(parent.facts):
      made.append(Item("hot", "device", f"# On the {device} device\n{known}"))
  if last is not None and last is not parent and not last.ok:
    said = last.feedback[:_FEEDBACK]
    made.append(
      Item("hot", "feedback", f"# The last try: {last.status}\n{said}", last.id)
    )
  elif parent is not None and not parent.ok:
    made.append(
      Item(
        "hot", "feedback", f"# Why\n{parent.feedback[:_FEEDBACK]}", parent.id
      )
    )
  goal = (
    "right first" if parent is None or not parent.ok else "faster, and right"
  )
  made.append(Item("hot", "target", f"# Wanted: a kernel that is {goal}."))
  return made
