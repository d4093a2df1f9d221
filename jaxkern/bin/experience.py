"""Looks into an experience graph, and moves experience between graphs.

python -m jaxkern.bin.experience list
python -m jaxkern.bin.experience search --task=softmax_f16 bank conflicts
python -m jaxkern.bin.experience lineage CASE
python -m jaxkern.bin.experience show CASE
python -m jaxkern.bin.experience export cases.jsonl
python -m jaxkern.bin.experience import cases.jsonl
python -m jaxkern.bin.experience merge other.db
python -m jaxkern.bin.experience draw experience.html
python -m jaxkern.bin.experience check
"""

from absl import flags

from jaxkern import bin as jaxkern_bin
from jaxkern.agent import listing

_GRAPH = flags.DEFINE_string("graph", "runs/experience.db", "The graph.")
_TASK = flags.DEFINE_string("task", "", "For `list` and `search`.")
_FAMILY = flags.DEFINE_string("family", "", "For `search`.")
_DEVICE = flags.DEFINE_string("device", "cpu", "For `search`: comes first.")
_LIMIT = flags.DEFINE_integer("limit", 20, "Lines.")


def main(argv) -> None:
  """Prints what was asked for."""
  print(
    listing.answer(
      _GRAPH.value,
      argv[1:],
      task=_TASK.value,
      family=_FAMILY.value,
      device=_DEVICE.value,
      limit=_LIMIT.value,
    )
  )


if __name__ == "__main__":
  jaxkern_bin.run(main, positional=True)
