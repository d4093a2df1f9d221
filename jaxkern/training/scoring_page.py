"""evaluation.html: curves, a table per task, every kernel with its log."""

import io
import pathlib
from collections.abc import Mapping, Sequence

import jinja2
import markupsafe
from matplotlib.figure import Figure

_P = [k / 20 for k in range(0, 61)]
_COLOURS = {"filtered": "#2a6f97", "raw": "#e07a5f"}


def write(
  path: pathlib.Path, rows: Sequence[Mapping], summary: Mapping, title: str
) -> None:
  """Writes the page; texts of candidates and compilers are escaped."""
  environment = jinja2.Environment(
    loader=jinja2.PackageLoader("jaxkern.training", "."), autoescape=True
  )
  page = environment.get_template("scoring.html.j2").render(
    title=title,
    summary=summary,
    names=list(summary["all"]["filtered"]) if rows else [],
    tasks=_by_task(rows),
    curves=_curves(rows) if rows else "",
    rows=rows,
  )
  temporary = path.with_suffix(".tmp")
  temporary.write_text(page, encoding="utf-8")
  temporary.rename(path)


def _by_task(rows: Sequence[Mapping]) -> list[dict]:
  tasks: dict[tuple, list] = {}
  for row in rows:
    tasks.setdefault((row["level"], row["task"]), []).append(row)
  return [
    {
      "level": level,
      "task": task,
      "samples": len(group),
      "right": sum(r["status"] == "ok" for r in group),
      "statuses": ", ".join(sorted({r["status"] for r in group})),
      "speedup": max(map(_speedup, group)),
      "roofline": max(r.get("roofline", 0.0) for r in group),
    }
    for (level, task), group in tasks.items()
  ]


def _speedup(row: Mapping) -> float:
  us, baseline = row.get("us") or 0, row.get("baseline_us") or 0
  return baseline / us if row["status"] == "ok" and us and baseline else 0.0


def _curves(rows: Sequence[Mapping]) -> markupsafe.Markup:
  """fast_p over p, filtered and raw."""
  figure = Figure(figsize=(6.4, 3.2), layout="constrained")
  axes = figure.subplots()
  for label, colour in _COLOURS.items():
    values = [_share(rows, label, p) for p in _P]
    axes.plot(_P, values, color=colour, label=label)
  axes.set_xlabel("p: times as fast as the baseline")
  axes.set_ylabel("fast_p, %")
  axes.set_ylim(0, 100)
  axes.spines[["top", "right"]].set_visible(False)
  axes.legend(frameon=False)
  text = io.StringIO()
  figure.savefig(text, format="svg", metadata={"Date": None})
  svg = text.getvalue()
  return markupsafe.Markup(svg[svg.index("<svg") :])


def _share(rows: Sequence[Mapping], label: str, p: float) -> float:
  hits = 0
  for row in rows:
    status = row["status"]
    if label == "raw":
      status = row.get("raw_status") or status
    ratio = _speedup({**row, "status": status})
    hits += status == "ok" and (ratio > p or p == 0)
  return 100 * hits / len(rows)
