"""What `python -m jaxkern.bin.curate` does: a config, sources, a data set."""

import os
from collections.abc import Iterator, Mapping, Sequence

from ml_collections import ConfigDict

from jaxkern.data import contamination, corpus, curation, publication, sources
from jaxkern.data.contamination import Detector, Evaluated
from jaxkern.data.sources import Row
from jaxkern.data.variants import propose
from jaxkern.tasks import suite
from jaxkern.tasks.task import Task


def run(
  config: ConfigDict, workdir: str | os.PathLike, paths: Sequence[str] = ()
) -> dict:
  """Curates the config's generators and the paths; returns the summary.

  Raises:
    ValueError: there is no source, or one that is none, or the work directory
      has other settings.
    OSError: the disk is full; no verdict is lost.
  """
  tasks = known_tasks(config.tasks)
  settings = curation.fixed_settings(workdir, config.verdict.to_dict())
  detector = Detector(
    evaluated(config.evaluations), config.ngram.words, config.ngram.share
  )
  return curation.curate(
    rows(config.generate, tasks, paths),
    tasks,
    detector,
    workdir,
    settings=settings,
    bars=curation.Bars(config.keep, tuple(config.lower), config.alike),
    limit_s=config.limit_s,
    title=config.title,
  )


def known_tasks(own: Sequence[str]) -> dict[str, Task]:
  """All tasks of ours, and those of files or folders, by name."""
  tasks = [task for set_ in suite.SETS for task in suite.select(set_)]
  tasks += [task for path in own for task in suite.select(path)]
  return {task.name: task for task in tasks}


def evaluated(evaluations: Sequence[str]) -> list[Evaluated]:
  """'held_out' for our own; else a KernelBench checkout, or a file of tasks."""
  found = []
  for name in evaluations:
    if name == "held_out":
      found += contamination.held_out()
    elif os.path.isdir(name):
      found += contamination.of_kernelbench(name)
    else:
      found += map(contamination.of_task, suite.select(name))
  return found


def rows(
  generate: ConfigDict, tasks: Mapping[str, Task], paths: Sequence[str]
) -> Iterator[Row]:
  """The generators' proposals, then the paths' rows.

  Raises:
    ValueError: there is neither.
  """
  if not (generate.variants or generate.styles or paths):
    raise ValueError("--source: expected a file or folder, got none")
  read = [sources.read(path, tasks) for path in paths]
  seed = generate.seed
  if generate.variants:
    made = propose(seed, generate.variants, generate.families or None)
    yield from sources.generated("variants", made, seed)
  if generate.styles:
    made = corpus.propose(suite.names("train"), seed, generate.styles)
    yield from sources.generated("styles", made, seed)
  for some in read:
    yield from some


def table(summary: Mapping) -> str:
  """The funnel and the tiers for people."""
  lines = [
    (label, str(summary["counts"][stage]))
    for stage, label in publication.FUNNEL.items()
  ]
  for bar, tier in summary["tiers"].items():
    lines.append((f"tier {bar}", f"{tier['samples']} of {tier['tasks']} tasks"))
  if summary["unjudged"]:
    lines.append(("not judged yet", str(summary["unjudged"])))
  width = max(len(label) for label, _ in lines)
  return "\n".join(f"{label.ljust(width)}  {value}" for label, value in lines)
