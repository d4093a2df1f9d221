"""Distinct right kernels, as `evaluator_throughput.py` and its rival judge."""

from jaxkern.tasks import suite
from jaxkern.tasks.task import Task

TASKS = 16


def tasks(count: int = TASKS) -> list[Task]:
  """Some of the primer's tasks, of all its kinds."""
  names = suite.names()
  return [suite.get(names[i * len(names) // count]) for i in range(count)]


def candidates(count: int) -> list[tuple[Task, str]]:
  """The baselines of some tasks, of other names and block sizes."""
  chosen = tasks()
  made = []
  for i in range(count):
    task = chosen[i % len(chosen)]
    source = task.baseline.replace("kernel", f"kernel_{i}")
    if i // len(chosen) % 2:
      source = source.replace("256", "128").replace("255", "127")
    made.append((task, source))
  if len({source for _, source in made}) != count:
    raise RuntimeError("the candidates are not distinct")
  return made
