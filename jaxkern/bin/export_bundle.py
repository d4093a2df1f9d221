"""Writes the problem bundle of a task, for use without Python.

python -m jaxkern.bin.export_bundle --task=softmax --out=/tmp/softmax
jaxkern-eval --bundle=/tmp/softmax --device=cpu kernel.cu
"""

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.tasks import suite
from jaxkern.tasks.bundle import write_bundle

_TASK = flags.DEFINE_string("task", None, "The task's name.", required=True)
_OUT = flags.DEFINE_string("out", None, "A new directory.", required=True)
_SEED = flags.DEFINE_integer("seed", 0, "Draws the inputs.", lower_bound=0)


def main(_) -> None:
  """Writes the bundle and says so."""
  task = suite.get(_TASK.value)
  write_bundle(task, _OUT.value, _SEED.value)
  print(f"{_OUT.value}: {task.name}, {len(task.cases)} cases")


if __name__ == "__main__":
  jaxkern_bin.run(main)
