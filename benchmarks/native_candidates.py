"""Distinct right kernels, as `evaluator_throughput.py` and its rival judge."""

from jaxkern.tasks import suite
from jaxkern.tasks.task import Task


def candidates(count: int) -> list[tuple[Task, str]]:
  """The baselines of all tasks, then of other names and block sizes."""
  names = suite.names()
  made = []
  for i in range(count):
    task = suite.get(names[i % len(names)])
    source = task.baseline.replace("kernel", f"kernel_{i}")
    if i // len(names) % 2:
      source = source.replace("256", "128").replace("255", "127")
    made.append((task, source))
  if len({source for _, source in made}) != count:
    raise RuntimeError("the candidates are not distinct")
  return made
