"""Lists the tasks, or shows one: signature, prompt and baseline.

python -m jaxkern.bin.tasks
python -m jaxkern.bin.tasks --split=test --level=2
python -m jaxkern.bin.tasks --set=suite --level=3 --tag=causal
python -m jaxkern.bin.tasks --task=softmax
"""

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.rollout import prompts
from jaxkern.tasks import facts, suite
from jaxkern.tasks.task import Task, shapes, signature

_TASK = flags.DEFINE_string("task", None, "Show this one: a name or a file.")
_SET = flags.DEFINE_enum("set", "primer", suite.SETS, "What is listed.")
_SPLIT = flags.DEFINE_string(
  "split", None, "List only 'train', 'validation' or 'test'."
)
_LEVEL = flags.DEFINE_integer("level", None, "List only level 1, 2 or 3.")
_TAG = flags.DEFINE_string("tag", None, "List only tasks with this tag.")
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


def table(names: list[str]) -> str:
  """One line per task under a header, columns aligned."""
  rows = [_COLUMNS, *map(_row, map(suite.get, names))]
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


def description(name: str) -> str:
  """Everything a person wants to know of one task."""
  task = suite.get(name)
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


def main(_) -> None:
  """Prints the table or the description."""
  if _TASK.value is not None:
    print(description(_TASK.value), end="")
  else:
    names = suite.names(_SPLIT.value, _LEVEL.value, _SET.value)
    tag = _TAG.value
    print(table([n for n in names if not tag or tag in suite.get(n).tags]))


if __name__ == "__main__":
  jaxkern_bin.run(main)
