"""report.html: one self-contained page that a person opens first."""

import collections
import io
import json
import os
import pathlib

import jinja2
import markupsafe
from matplotlib.figure import Figure

from jaxkern.data.jsonl import read_lines
from jaxkern.training import metrics

_COLOURS = ("#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#9a8c98", "#6d597a")
_GALLERY = 6


def render(workdir: str | os.PathLike) -> pathlib.Path:
  """Writes report.html from what the run has left so far; returns its path.

  Raises:
    ValueError: workdir holds no run.
  """
  workdir = pathlib.Path(workdir)
  if not (workdir / "config.json").exists():
    raise ValueError(f"workdir: expected a run's directory, got {workdir}")
  summary_path = workdir / "summary.json"
  summary = (
    json.loads(summary_path.read_text()) if summary_path.exists() else {}
  )
  lines = metrics.read(workdir / "metrics.jsonl")
  rl = [line for line in lines if line["stage"] == "rl"]
  sft = [line for line in lines if line["stage"] == "sft"]
  before = read_lines(workdir / "before.jsonl")
  after = read_lines(workdir / "after.jsonl")
  tasks_before = read_lines(workdir / "new_tasks_before.jsonl")
  tasks_after = read_lines(workdir / "new_tasks_after.jsonl")
  plots = []
  if rl:
    plots += [
      ("Passed by turn, over RL steps", _pass_rates(rl)),
      ("Groups expanded and pruned", _groups(rl)),
      ("Seconds by stage", _seconds(rl)),
    ]
  if before and after:
    plots.append(("How first turns ended", _statuses(before, after)))
  if sft:
    plots.append(("Warm start", _loss(sft)))
  environment = jinja2.Environment(
    loader=jinja2.PackageLoader("jaxkern.training", "."), autoescape=True
  )
  page = environment.get_template("report.html.j2").render(
    summary=summary,
    turns=[k for k in summary.get("before", {}) if k[-1].isdigit()],
    rates=_rates(summary),
    plots=plots,
    tasks=_by_task(tasks_before, tasks_after),
    gallery=_gallery(before + tasks_before, after + tasks_after),
  )
  path = workdir / "report.html"
  temporary = path.with_suffix(".tmp")
  temporary.write_text(page, encoding="utf-8")
  temporary.rename(path)
  return path


def _rates(summary: dict) -> list[tuple[str, dict]]:
  """(label, pass rates) for the table."""
  return [
    (f"{what}, {when}", rates[when])
    for what, rates in (
      ("new sizes", summary),
      ("new tasks", summary.get("new_tasks", {})),
    )
    for when in ("before", "after")
    if when in rates
  ]


def _axes(x: str, y: str):
  figure = Figure(figsize=(6.4, 3.2), layout="constrained")
  axes = figure.subplots()
  axes.set_xlabel(x)
  axes.set_ylabel(y)
  axes.spines[["top", "right"]].set_visible(False)
  return figure, axes


def _svg(figure: Figure) -> markupsafe.Markup:
  """The figure as an inline element, without the XML prologue."""
  text = io.StringIO()
  figure.savefig(text, format="svg", metadata={"Date": None})
  return markupsafe.Markup(text.getvalue()[text.getvalue().index("<svg") :])


def _pass_rates(rl: list[dict]) -> markupsafe.Markup:
  figure, axes = _axes("RL step", "passed, %")
  names = sorted(k for k in rl[0] if k.startswith("pass@"))
  steps = [line["step"] + 1 for line in rl]
  for name, colour in zip(names, _COLOURS, strict=False):
    values = [100 * line[name] for line in rl]
    axes.plot(steps, values, color=colour, alpha=0.3, linewidth=1)
    axes.plot(steps, _smooth(values), color=colour, label=name, linewidth=2)
  axes.set_ylim(0, 100)
  axes.legend(frameon=False)
  return _svg(figure)


def _smooth(values: list[float], memory: float = 0.7) -> list[float]:
  """Exponential average without the bias of its start."""
  total = weight = 0.0
  smoothed = []
  for value in values:
    total = memory * total + value
    weight = memory * weight + 1
    smoothed.append(total / weight)
  return smoothed


def _groups(rl: list[dict]) -> markupsafe.Markup:
  figure, axes = _axes("RL step", "groups")
  names = ("groups_expanded", "groups_easy", "groups_hopeless")
  axes.stackplot(
    [line["step"] + 1 for line in rl],
    [[line[name] for line in rl] for name in names],
    labels=("expanded", "pruned: easy", "pruned: hopeless"),
    colors=_COLOURS,
  )
  axes.legend(loc="upper right")
  return _svg(figure)


def _seconds(rl: list[dict]) -> markupsafe.Markup:
  figure, axes = _axes("RL step", "seconds")
  steps = [line["step"] + 1 for line in rl]
  stages = _wall_seconds(rl)
  axes.stackplot(
    steps, list(stages.values()), labels=list(stages), colors=_COLOURS
  )
  if any(line.get("staleness") for line in rl):
    # Stages of two steps go on at once: their sum is more than the clock's.
    axes.plot(
      steps,
      [line["seconds_step"] for line in rl],
      color="black",
      label="on the clock",
    )
  axes.legend(frameon=False)
  return _svg(figure)


def _wall_seconds(rl: list[dict]) -> dict[str, list[float]]:
  """Stages of a step, from the bottom of the plot.

  Waiting for verdicts is shared out by what the kernels spent their time with:
  compilers, queues, runs.
  """
  judging = ("compiling", "queueing", "running")
  stages = {k: [] for k in ("sampling", *judging, "updating")}
  for line in rl:
    spent = [line.get(f"seconds_{name}", 0.0) for name in judging]
    total = sum(spent) or 1.0
    for name, seconds in zip(judging, spent, strict=True):
      stages[name].append(line["seconds_evaluating"] * seconds / total)
    stages["sampling"].append(line["seconds_sampling"])
    stages["updating"].append(line["seconds_updating"])
  return stages


def _statuses(before: list[dict], after: list[dict]) -> markupsafe.Markup:
  figure, axes = _axes("first turns, %", "")
  counts = [
    collections.Counter(r["turns"][0]["status"] for r in records)
    for records in (before, after)
  ]
  names = sorted({*counts[0], *counts[1]}, key=lambda n: n != "ok")[::-1]
  for offset, label, count, records, colour in (
    (0.2, "before", counts[0], before, _COLOURS[4]),
    (-0.2, "after", counts[1], after, _COLOURS[0]),
  ):
    axes.barh(
      [i + offset for i in range(len(names))],
      [100 * count[name] / len(records) for name in names],
      height=0.38,
      color=colour,
      label=label,
    )
  axes.set_yticks(range(len(names)), names)
  axes.legend(frameon=False)
  return _svg(figure)


def _loss(sft: list[dict]) -> markupsafe.Markup:
  figure, axes = _axes("step", "cross entropy per token")
  axes.plot(
    [line["step"] for line in sft],
    [line["loss"] for line in sft],
    color=_COLOURS[0],
  )
  axes.set_yscale("log")
  return _svg(figure)


def _by_task(before: list[dict], after: list[dict]) -> list[tuple]:
  """(task, first turns passed before, after), in %; None without samples."""

  def rate(records: list[dict], task: str) -> float | None:
    mine = [r["success_turn"] == 1 for r in records if r["task"] == task]
    return 100 * sum(mine) / len(mine) if mine else None

  tasks = dict.fromkeys(r["task"] for r in before + after)
  return [(t, rate(before, t), rate(after, t)) for t in tasks]


def _gallery(before: list[dict], after: list[dict]) -> list[dict]:
  """Tasks with one first turn each, failed before and passed after if any."""
  pairs = []
  for task in dict.fromkeys(r["task"] for r in before):
    old = [r["turns"][0] for r in before if r["task"] == task]
    new = [r["turns"][0] for r in after if r["task"] == task]
    if old and new:
      old.sort(key=lambda turn: turn["status"] == "ok")
      new.sort(key=lambda turn: turn["status"] != "ok")
      pairs.append({"task": task, "before": old[0], "after": new[0]})
  pairs.sort(
    key=lambda p: (
      (p["before"]["status"] == "ok") + (p["after"]["status"] != "ok")
    )
  )
  return pairs[:_GALLERY]
