"""A curated set as files: Parquet, a card that `datasets` reads, plots.

  README.md                  the card: YAML head with a config per tier
  data/kept.parquet          the set proper
  data/tier_1.5.parquet ...  slower kernels, apart
  plots/funnel.png, plots/speedup.png
  summary.json, rejected.jsonl

Every file is written beside its place and renamed: whoever reads meets the old
one or the new one.
"""

import json
import os
import pathlib
from collections.abc import Iterable, Mapping, Sequence

import jinja2
import pyarrow
import pyarrow.parquet
from matplotlib.figure import Figure

from jaxkern.data import difficulty, judging
from jaxkern.data.sources import Candidate
from jaxkern.tasks.task import Task, shapes, signature

SCHEMA = pyarrow.schema(
  [
    ("id", pyarrow.string()),
    ("task", pyarrow.string()),
    ("statement", pyarrow.string()),
    ("shapes", pyarrow.string()),
    ("signature", pyarrow.string()),
    ("kernel", pyarrow.string()),
    ("family", pyarrow.string()),
    ("level", pyarrow.int64()),
    ("operations", pyarrow.int64()),
    ("tier", pyarrow.float64()),
    ("speedup", pyarrow.float64()),
    ("speedup_low", pyarrow.float64()),
    ("speedup_high", pyarrow.float64()),
    ("device", pyarrow.string()),
    ("times_us", pyarrow.list_(pyarrow.float64())),
    ("median_us", pyarrow.float64()),
    ("baseline_us", pyarrow.float64()),
    ("timed_size", pyarrow.string()),
    ("checked_sizes", pyarrow.list_(pyarrow.string())),
    ("checked_kinds", pyarrow.list_(pyarrow.string())),
    ("checked_seeds", pyarrow.int64()),
    ("source", pyarrow.string()),
    ("origin", pyarrow.string()),
  ]
)
_BLUE = "#2a6f97"
_COLOURS = (_BLUE, "#e07a5f", "#81b29a", "#f2cc8f")
# What survives each stage, as the plot and the card call it.
FUNNEL = {
  "read": "read",
  "well_formed": "well formed",
  "extracted": "has a kernel",
  "distinct": "not seen before",
  "uncontaminated": "of no evaluation",
  "judged": "judged so far",
  "compile": "compiles",
  "check": "right on all shapes and seeds",
  "honest": "passes the cheating checks",
  "time": "timed",
  "fast": "fast enough",
  "kept": "no near-duplicate",
}


def publish(
  directory: str | os.PathLike,
  tiers: Mapping[float, Sequence[tuple[Candidate, dict]]],
  tasks: Mapping[str, Task],
  summary: Mapping,
  judged: Sequence[tuple[Candidate, dict]],
  title: str,
) -> None:
  """Writes the data set of the highest bar, the other tiers, card and plots.

  Raises:
    OSError: something cannot be written.
  """
  directory = pathlib.Path(directory)
  best = max(tiers)
  operations: dict[str, int | None] = {}
  files = {}
  for bar, samples in tiers.items():
    name = "kept" if bar == best else f"tier_{bar:g}"
    rows = [_row(c, r, bar, tasks, operations) for c, r in samples]
    files[name] = rows
    _write_parquet(directory / "data" / f"{name}.parquet", rows)
  _write_plot(directory / "plots/funnel.png", _funnel(summary["counts"]))
  speedups = [(r["device"], r["speedup"]) for _, r in judged if r["speedup"]]
  _write_plot(
    directory / "plots/speedup.png", _histogram(speedups, sorted(tiers))
  )
  card = _card(files, summary, best, title)
  write_text(directory / "README.md", card)
  write_text(directory / "summary.json", json.dumps(summary, indent=1) + "\n")


def write_text(path: pathlib.Path, text: str) -> None:
  """The whole text or none of it."""
  path.parent.mkdir(parents=True, exist_ok=True)
  temporary = path.with_name(f".{path.name}.new")
  try:
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)
  finally:
    temporary.unlink(missing_ok=True)


def write_lines(path: pathlib.Path, records: Iterable[Mapping]) -> None:
  """JSON lines, whole or not at all."""
  write_text(path, "".join(json.dumps(record) + "\n" for record in records))


def _row(
  candidate: Candidate,
  record: Mapping,
  bar: float,
  tasks: Mapping[str, Task],
  operations: dict[str, int | None],
) -> dict:
  """One sample; `operations` remembers what was counted."""
  task = tasks.get(candidate.task)
  of = candidate.task or candidate.reference
  if of not in operations:
    count = difficulty.of_task(task) if task else difficulty.of_pytorch(of)
    operations[of] = count
  sizes = [json.dumps(size) for size in record["checked_sizes"]]
  return {
    "id": candidate.key,
    "task": candidate.task,
    "statement": task.summary if task else candidate.reference,
    "shapes": shapes(task) if task else "",
    "signature": signature(task) if task else "",
    "kernel": candidate.kernel,
    "family": task.family if task else "pytorch",
    "level": task.level if task else None,
    "operations": operations[of],
    "tier": bar,
    "speedup": record["speedup"],
    "speedup_low": record["speedup_low"],
    "speedup_high": record["speedup_high"],
    "device": record["device"],
    "times_us": record["times_us"],
    "median_us": judging.median(record["times_us"]),
    "baseline_us": record["baseline_us"],
    "timed_size": json.dumps(record["timed_size"]),
    "checked_sizes": sizes,
    "checked_kinds": record["kinds"],
    "checked_seeds": len(record["seeds"]),  # Which ones stays secret.
    "source": candidate.origin["source"],
    "origin": json.dumps(candidate.origin),
  }


def _write_parquet(path: pathlib.Path, rows: Sequence[Mapping]) -> None:
  table = pyarrow.Table.from_pylist(list(rows), schema=SCHEMA)
  path.parent.mkdir(parents=True, exist_ok=True)
  temporary = path.with_name(f".{path.name}.new")
  try:
    pyarrow.parquet.write_table(table, temporary)
    temporary.replace(path)
  finally:
    temporary.unlink(missing_ok=True)


def _write_plot(path: pathlib.Path, figure: Figure) -> None:
  path.parent.mkdir(parents=True, exist_ok=True)
  temporary = path.with_name(f".{path.name}.new")
  try:
    figure.savefig(temporary, format="png", dpi=110, metadata={"Software": ""})
    temporary.replace(path)
  finally:
    temporary.unlink(missing_ok=True)


def _funnel(counts: Mapping[str, int]) -> Figure:
  figure = Figure(figsize=(6.4, 4.0), layout="constrained")
  axes = figure.subplots()
  values = [counts[stage] for stage in FUNNEL]
  bars = axes.barh(list(FUNNEL.values()), values, color=_BLUE)
  axes.bar_label(bars, padding=3)
  axes.invert_yaxis()
  axes.margins(x=0.12)
  axes.set_xlabel("kernels")
  axes.spines[["top", "right"]].set_visible(False)
  return figure


def _histogram(
  speedups: Sequence[tuple[str, float]], bars: Sequence[float]
) -> Figure:
  """Of all right kernels; those beyond the axis stand at its ends."""
  figure = Figure(figsize=(6.4, 3.4), layout="constrained")
  axes = figure.subplots()
  devices = sorted({device for device, _ in speedups})
  edges = [2 ** (k / 3) for k in range(-18, 31)]
  speedups = [(d, min(max(s, edges[0]), edges[-1])) for d, s in speedups]
  if devices:
    axes.hist(
      [[s for d, s in speedups if d == device] for device in devices],
      bins=edges,
      stacked=True,
      color=[_COLOURS[k % len(_COLOURS)] for k in range(len(devices))],
      label=[device.partition(",")[0] for device in devices],
    )
    axes.legend(frameon=False, loc="upper right")
  for bar in bars:
    axes.axvline(bar, color="#888888", linewidth=0.8, linestyle="--")
  axes.set_xscale("log", base=2)
  axes.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
  axes.set_xlabel("times as fast as the baseline")
  axes.set_ylabel("right kernels")
  axes.spines[["top", "right"]].set_visible(False)
  return figure


def _card(
  files: Mapping[str, Sequence[Mapping]],
  summary: Mapping,
  best: float,
  title: str,
) -> str:
  environment = jinja2.Environment(
    loader=jinja2.PackageLoader("jaxkern.data", "."),
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
  )
  rows = [row for some in files.values() for row in some]
  return environment.get_template("card.md.j2").render(
    title=json.dumps(title),
    name=title,
    files=files,
    summary=summary,
    best=best,
    funnel=FUNNEL,
    schema=SCHEMA,
    size=_size_category(len(files["kept"])),
    devices=sorted({row["device"] for row in rows}),
    families=_by(files["kept"], "family"),
    operations=_by(files["kept"], "operations"),
    sources=_by(files["kept"], "source"),
  )


def _by(rows: Sequence[Mapping], column: str) -> dict:
  values = [row[column] for row in rows]
  order = sorted(set(values), key=lambda v: (v is None, v))
  return {value: values.count(value) for value in order}


def _size_category(count: int) -> str:
  """As the hub spells it."""
  for most, name in ((1000, "n<1K"), (10_000, "1K<n<10K")):
    if count < most:
      return name
  return "10K<n<100K"
