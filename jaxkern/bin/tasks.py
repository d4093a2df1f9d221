"""Lists the tasks, or shows one: signature, prompt and baseline.

python -m jaxkern.bin.tasks
python -m jaxkern.bin.tasks --split=test --level=2
python -m jaxkern.bin.tasks --set=suite --level=3 --tag=causal
python -m jaxkern.bin.tasks --set=my_tasks.py
python -m jaxkern.bin.tasks --task=softmax
"""

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.rollout import listing
from jaxkern.tasks import suite

_TASK = flags.DEFINE_string("task", None, "Show this one: a name or a file.")
_SET = flags.DEFINE_string(
  "set", "primer", "List 'primer', 'suite', or a file or folder of tasks."
)
_SPLIT = flags.DEFINE_string(
  "split", None, "List only 'train', 'validation' or 'test'."
)
_LEVEL = flags.DEFINE_integer("level", None, "List only level 1, 2 or 3.")
_TAG = flags.DEFINE_string("tag", None, "List only tasks with this tag.")


def main(_) -> None:
  """Prints the table or the description."""
  if _TASK.value is not None:
    print(listing.description(suite.get(_TASK.value)), end="")
  else:
    found = suite.select(_SET.value, _SPLIT.value, _LEVEL.value)
    tag = _TAG.value
    print(listing.table([t for t in found if not tag or tag in t.tags]))


if __name__ == "__main__":
  jaxkern_bin.run(main)
