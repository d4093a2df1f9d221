"""Says what would pass a task and should not.

python -m jaxkern.bin.lint_task --task=softmax_f16
python -m jaxkern.bin.lint_task --task=my_task.py
python -m jaxkern.bin.lint_task --reference=ref.py  # KernelBench's form

Trivial answers (zeros, ones, the mean, a part, a copy of an input), inputs that
do not matter, lower precisions that pass, a tolerance that float32 misses. Exit
code 1 if there is any.
"""

import pathlib
import sys
import tempfile

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.tasks import kernelbench, kernelbench_function, lint, suite
from jaxkern.tasks.torch_worker import TorchWorker

_TASK = flags.DEFINE_string("task", None, "A name or a file.")
_REFERENCE = flags.DEFINE_string(
  "reference", None, "A problem in KernelBench's form, at reduced sizes."
)


def _problem(path: pathlib.Path) -> lint.Findings:
  if not path.is_file():
    raise ValueError(f"--reference: expected a file, got {path}")
  with tempfile.TemporaryDirectory() as scratch, TorchWorker() as worker:
    try:
      return kernelbench_function.findings(worker, path.read_text(), scratch)
    except kernelbench.Refused as error:
      raise ValueError(f"--reference: {path}: {error}") from error


def main(_) -> None:
  """Prints a line per finding."""
  if (_TASK.value is None) == (_REFERENCE.value is None):
    raise ValueError("expected one of --task and --reference")
  if _TASK.value is not None:
    task = suite.get(_TASK.value)
    name, found = task.name, lint.lint_task(task)
  else:
    path = pathlib.Path(_REFERENCE.value)
    name, found = path.stem, _problem(path)
  for line in found.lines():
    print(f"{name}: {line}")
  if found.lines():
    sys.exit(1)
  print(f"{name}: no fault found")


if __name__ == "__main__":
  jaxkern_bin.run(main)
