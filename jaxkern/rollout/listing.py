"""Tasks as people see them: a table, and one of them in full."""

from jaxkern.rollout import prompts
from jaxkern.tasks import facts
from jaxkern.tasks.task import Task, shapes, signature

_COLUMNS = (
  "name",
  "level",
  "family",
  "split",
  "dtype",
  "difficulty",
  "tags",
  "summary",
)


def table(tasks: list[Task]) -> str:
  """One line per task under a header, columns aligned."""
  rows = [_COLUMNS, *map(_row, tasks)]
  widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
  lines = (
    "  ".join(
      cell.ljust(width) for cell, width in zip(row, widths, strict=True)
    )
    for row in rows
  )
  return "\n".join(line.rstrip() for line in lines)


def _row(task: Task) -> tuple[str, ...]:
  return (
    task.name,
    str(task.level),
    task.family,
    task.split,
    task.arguments[0].dtype,
    str(facts.difficulty(task) or "-"),
    ",".join(task.tags) or "-",
    _line(task.summary),
  )


def _line(text: str) -> str:
  """The first line, and whether there are more."""
  first, _, rest = text.partition("\n")
  return f"{first} ..." if rest else first


def description(task: Task) -> str:
  """Everything a person wants to know of one task."""
  size = task.cases[task.timed[-1]]
  flops, difficulty = facts.flops(task, size), facts.difficulty(task)
  cost = [
    f"bytes {facts.traffic(task, size):.0f} at the timed size",
    f"operations {flops:.0f}" if flops is not None else "",
    f"difficulty {difficulty}" if difficulty else "",
  ]
  sections = (
    ("signature", signature(task)),
    ("shapes", shapes(task)),
    ("tags", " ".join(task.tags) or "none"),
    ("cost", ", ".join(filter(None, cost))),
    ("cases", "\n".join(str(dict(case)) for case in task.cases)),
    ("prompt", prompts.first_turn(task)),
    ("baseline", task.baseline),
  )
  return "\n".join(f"# {title}\n{text.rstrip()}\n" for title, text in sections)
