"""Says what would pass a task and should not.

python -m jaxkern.bin.lint_task --task=softmax_f16
python -m jaxkern.bin.lint_task --task=my_task.py

Trivial answers (zeros, ones, the mean, a part, a copy of an input), inputs that
do not matter, lower precisions that pass, a tolerance that float32 misses. Exit
code 1 if there is a fault; a precision below the inputs' own is only a note.
"""

import sys

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.tasks import lint, suite

_TASK = flags.DEFINE_string("task", None, "A name or a file.")


def main(_) -> None:
  """Prints a line per finding."""
  if _TASK.value is None:
    raise ValueError("--task: expected a name or a file, got none")
  task = suite.get(_TASK.value)
  found = lint.lint_task(task)
  for line in found.lines():
    print(f"{task.name}: {line}")
  if found._replace(precision=()).lines():
    sys.exit(1)
  print(f"{task.name}: no fault found")


if __name__ == "__main__":
  jaxkern_bin.run(main)
