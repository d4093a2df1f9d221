"""From candidates to a verified data set: read, judge, keep, publish.

Everything that takes long is one verdict in WORKDIR/verdicts.jsonl; all else is
computed from sources and verdicts again. So whoever is killed goes on where it
was, and bars, thresholds and evaluations may change without judging again.
"""

import collections
import json
import os
import pathlib
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from jaxkern.data import bench, contamination, duplicates, publication
from jaxkern.data.contamination import Detector
from jaxkern.data.journal import Journal
from jaxkern.data.judging import STAGES, Settings, median
from jaxkern.data.sources import Candidate, Malformed, Row
from jaxkern.tasks.task import Task


class Sifted(NamedTuple):
  """What is worth judging, and all that is not, with reasons.

  Attributes:
    candidates: distinct, of no evaluation, with a kernel.
    rejected: objects with 'stage', 'reason' and the origin.
    counts: survivors by stage, in order.
  """

  candidates: list[Candidate]
  rejected: list[dict]
  counts: dict[str, int]


class Bars(NamedTuple):
  """What is kept of what is right.

  Attributes:
    keep: of the data set proper; what is at least so fast for sure.
    lower: bars of further tiers, each below `keep`.
    alike: Jaccard index from which on two kernels are near-duplicates.
  """

  keep: float = 2.0
  lower: tuple[float, ...] = (1.5, 1.0)
  alike: float = 0.9


BARS = Bars()


def curate(
  rows: Iterable[Row],
  tasks: Mapping[str, Task],
  detector: Detector,
  workdir: str | os.PathLike,
  *,
  settings: Settings,
  bars: Bars = BARS,
  limit_s: float = 0.0,
  judge_all: bench.JudgeAll = bench.judge_all,
  title: str = "Curated CUDA kernels",
) -> dict:
  """Judges what has no verdict yet; publishes what there is.

  Leaves verdicts.jsonl in `workdir`, and what `finish` writes.

  Args:
    rows: of jaxkern.data.sources.
    tasks: by name, those that candidates may be for.
    detector: of what evaluations hold.
    workdir: is kept to its settings.
    settings: of the verdicts; see `fixed_settings`.
    bars: what is kept.
    limit_s: begins no verdict after so many seconds; 0 for no limit.
    judge_all: gives verdicts; another one in tests.
    title: of the data set's card.

  Returns:
    The summary: counts by stage and tier, reasons, tasks.

  Raises:
    OSError: the disk is full, or the like; no verdict is lost.
    ValueError: bars or settings that cannot be.
  """
  _check(bars)
  workdir = pathlib.Path(workdir)
  sifted = sift(rows, tasks, detector)
  with Journal(workdir / "verdicts.jsonl") as journal:
    done = {record["key"]: record for record in journal.read()}
    pending = [c for c in sifted.candidates if c.key not in done]

    def keep(candidate: Candidate, record: dict) -> None:
      """A verdict for good; none is lost that has come here."""
      record = {"key": candidate.key, "task": candidate.task, **record}
      journal.append(record)
      done[candidate.key] = record

    judge_all(
      pending, len(sifted.candidates), tasks, settings, workdir, keep, limit_s
    )
  return finish(sifted, done, tasks, workdir, settings, bars, title)


def _check(bars: Bars) -> None:
  if any(not 0 < lower < bars.keep for lower in bars.lower):
    raise ValueError(
      f"lower: expected bars below {bars.keep}, got {bars.lower}"
    )


def fixed_settings(workdir: str | os.PathLike, asked: Mapping) -> Settings:
  """The settings of a work directory, which its first verdict fixes.

  The seeds of the inputs are secret numbers, drawn for it, so that no source
  can know them.

  Args:
    workdir: is made.
    asked: the fields of Settings; `seeds` is how many.

  Raises:
    ValueError: it has verdicts under other settings.
  """
  path = pathlib.Path(workdir) / "settings.json"
  verdicts = path.with_name("verdicts.jsonl")
  judged = verdicts.exists() and verdicts.stat().st_size > 0
  had = json.loads(path.read_text()) if path.exists() else None
  for name, wants in asked.items():
    has = had and (len(had[name]) if name == "seeds" else had[name])
    if had and has != wants:
      if judged:
        raise ValueError(
          f"{path}: {name}: expected {has!r} as in the verdicts there, got"
          f" {wants!r}; another --workdir starts anew"
        )
      had = None
  if had is None:
    if asked["seeds"] < 1:
      raise ValueError(f"seeds: expected at least 1, got {asked['seeds']}")
    seeds = [secrets.randbits(31) for _ in range(asked["seeds"])]
    had = {**asked, "seeds": seeds}
    publication.write_text(path, json.dumps(had, indent=1) + "\n")
  return Settings(**{**had, "seeds": tuple(had["seeds"])})


def sift(
  rows: Iterable[Row], tasks: Mapping[str, Task], detector: Detector
) -> Sifted:
  """Separates candidates from what need not be judged."""
  rejected: list[dict] = []
  counts = dict.fromkeys(
    ("read", "well_formed", "extracted", "distinct", "uncontaminated"), 0
  )
  candidates: dict[str, Candidate] = {}

  def reject(stage: str, row: Row, reason: str, **more) -> None:
    """Lists it."""
    rejected.append({"stage": stage, "reason": reason, **more, **row.origin})

  seen: set[str] = set()
  for row in rows:
    counts["read"] += 1
    if isinstance(row, Malformed):
      reject("malformed", row, row.reason)
      continue
    counts["well_formed"] += 1
    if not row.kernel:
      reject("extract", row, "no __global__ function in the text")
      continue
    counts["extracted"] += 1
    if row.key in seen:
      reject("distinct", row, "the same kernel for the same task")
      continue
    seen.add(row.key)
    counts["distinct"] += 1
    statement = row.reference or contamination.statement(tasks[row.task])
    found = detector.look(row.task, statement, row.kernel)
    if found:
      more = {"rule": found.rule, "share": found.share}
      reject("contaminated", row, f"{found.rule} of {found.task}", **more)
      continue
    counts["uncontaminated"] += 1
    candidates[row.key] = row
  return Sifted(list(candidates.values()), rejected, counts)


def finish(
  sifted: Sifted,
  verdicts: Mapping[str, dict],
  tasks: Mapping[str, Task],
  workdir: str | os.PathLike,
  settings: Settings,
  bars: Bars,
  title: str,
) -> dict:
  """Chooses, writes everything that follows from the verdicts; the summary."""
  workdir = pathlib.Path(workdir)
  judged = [
    (candidate, verdicts[candidate.key])
    for candidate in sifted.candidates
    if candidate.key in verdicts
  ]
  counts = {**sifted.counts, "judged": len(judged)}
  for place, stage in enumerate(STAGES):
    fell = STAGES[: place + 1]
    counts[stage] = sum(record["stage"] not in fell for _, record in judged)
  right = [(c, r) for c, r in judged if r["stage"] == "done"]
  tiers, twins = choose(right, bars)
  counts["fast"] = sum(sure(r) >= bars.keep for _, r in right)
  counts["kept"] = len(tiers[bars.keep])
  summary = {
    "counts": counts,
    "unjudged": len(sifted.candidates) - len(judged),
    "near_duplicates": len(twins),
    **_tallies(sifted.rejected, [record for _, record in judged]),
    "tiers": {str(bar): _tier(chosen) for bar, chosen in tiers.items()},
    "settings": {**settings._asdict(), "seeds": len(settings.seeds)},
    "bars": bars._asdict(),
  }
  failed = [_failure(c, r) for c, r in judged if r["stage"] != "done"]
  failed += [
    {"stage": "duplicate", "reason": f"of {twin}", **c.origin}
    for c, twin in twins
  ]
  publication.write_lines(workdir / "rejected.jsonl", sifted.rejected + failed)
  publication.publish(workdir, tiers, tasks, summary, judged, title)
  return summary


def _tallies(rejected: Sequence[dict], records: Sequence[dict]) -> dict:
  """How often each reason, status and rule was given."""
  return {
    "rejected": _tally(row["stage"] for row in rejected),
    "reasons": _tally(_reason(row) for row in rejected),
    "statuses": _tally(record["status"] for record in records),
    "rules": _tally(r["rule"] for r in records if r["rule"]),
    "cheats_that_pass_without_rules": sum(
      r["stage"] == "honest" and r["raw_status"] == "ok" for r in records
    ),
  }


def _tier(chosen: Sequence[tuple[Candidate, dict]]) -> dict:
  return {
    "samples": len(chosen),
    "tasks": len({_group(c) for c, _ in chosen}),
    "median_speedup": median([r["speedup"] for _, r in chosen]),
  }


def _failure(candidate: Candidate, record: Mapping) -> dict:
  first = record["log"].partition("\n")[0]
  reason = f"{record['status']}: {first}"
  return {"stage": record["stage"], "reason": reason, **candidate.origin}


def sure(record: Mapping) -> float:
  """The lower end of the speedup's interval; without one, the speedup."""
  return record["speedup_low"] or record["speedup"]


def choose(right: Sequence[tuple[Candidate, dict]], bars: Bars):
  """(samples by bar, near-duplicates with their twins); the fastest stay."""
  levels = sorted({bars.keep, *bars.lower}, reverse=True)
  fast = sorted(
    ((c, r) for c, r in right if sure(r) >= levels[-1]),
    key=lambda pair: (-sure(pair[1]), pair[0].key),
  )
  found = duplicates.find(
    [duplicates.Kernel(c.key, _group(c), c.kernel) for c, _ in fast],
    bars.alike,
  )
  tiers = {bar: [] for bar in levels}
  for candidate, record in fast:
    if candidate.key not in found:
      bar = next(b for b in levels if sure(record) >= b)
      tiers[bar].append((candidate, record))
  twins = [(c, found[c.key]) for c, _ in fast if c.key in found]
  return tiers, twins


def _group(candidate: Candidate) -> str:
  return candidate.task or candidate.reference


def _reason(row: Mapping) -> str:
  """Without what differs from row to row."""
  text = row["reason"].partition(":")[0]
  return text.partition("'")[0].strip() if "named" in text else text


def _tally(words: Iterable[str]) -> dict[str, int]:
  return dict(collections.Counter(words).most_common())
