"""The page and the table of a comparison of runs."""

import io
import math
import os
import pathlib
from collections.abc import Mapping, Sequence

import jinja2
import markupsafe
from matplotlib.figure import Figure

from jaxkern.training import comparison
from jaxkern.training.comparison import Run

_COLOURS = ("#2a6f97", "#e07a5f", "#81b29a", "#f2cc8f", "#9a8c98", "#6d597a")
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Comparison of runs</title>
<style>body{font:16px/1.5 sans-serif;max-width:52em;margin:2em auto}</style>
<h1>Comparison of runs</h1>
<h2>First turns passed, against wall clock</h2>
<p>Of training rollouts, averaged over steps; mean and range over seeds.</p>
{{ curves }}
{% if bars %}<h2>Passed by turn, after training</h2>
<p>On new tasks, mean over seeds; whiskers are the seeds' range.</p>
{{ bars }}{% endif %}
<h2>Figures</h2>
<pre>{{ table }}</pre>
</html>
"""


def table(runs: Mapping[str, Sequence[Run]]) -> str:
  """Figures of each method, then times to equal accuracy against the first."""
  lines = [
    f"{'method':<16}{'seeds':>6}{'turns/pass':>12}{'activated':>11}"
    f"{'recovered':>11}  passed by turn, after training"
  ]
  for name, group in runs.items():
    finals = [run.final for run in group if run.final]
    passed = " / ".join(
      f"{100 * _mean([final[k] for final in finals]):.1f}"
      for k in sorted(finals[0] if finals else [])
    )
    lines.append(
      f"{name:<16}{len(group):>6}"
      f"{_mean([r.turns_per_pass for r in group]):>12.2f}"
      f"{100 * _mean([r.activated for r in group]):>9.1f} %"
      f"{100 * _mean([r.recovered for r in group]):>9.1f} %"
      f"  {f'{passed} %' if passed else 'unfinished'}"
    )
  return "\n".join([*lines, "", *_ratios(runs)])


def write(
  runs: Mapping[str, Sequence[Run]], path: str | os.PathLike
) -> pathlib.Path:
  """Writes the page, self-contained; returns its path."""
  environment = jinja2.Environment(autoescape=True)
  page = environment.from_string(_PAGE).render(
    curves=_curves(runs),
    bars=_bars({n: g for n, g in runs.items() if all(r.final for r in g)}),
    table=table(runs),
  )
  path = pathlib.Path(path)
  temporary = path.with_suffix(".tmp")
  temporary.write_text(page, encoding="utf-8")
  temporary.rename(path)
  return path


def _ratios(runs: Mapping[str, Sequence[Run]]) -> list[str]:
  first, *others = runs
  wanted = comparison.levels(runs)
  if not wanted:
    return ["No accuracy above all beginnings was reached by every run."]
  lines = [f"Time to equal first-turn accuracy, in times of {first}'s:"]
  for level in wanted:
    cells = []
    for name in others:
      value, (low, high) = comparison.ratio(runs[name], runs[first], level)
      cells.append(f"{name} {value:.2f} [{low:.2f}, {high:.2f}]")
    times = [comparison.time_to(run, level) for run in runs[first]]
    lines.append(
      f"{100 * level:5.1f} %  {first} {_mean(times):.1f} s  {'  '.join(cells)}"
    )
  lines.append("In brackets: 95 %, from a bootstrap over seeds.")
  return lines


def _curves(runs: Mapping[str, Sequence[Run]]) -> markupsafe.Markup:
  figure = Figure(figsize=(7.2, 4.0), layout="constrained")
  axes = figure.subplots()
  for i, (name, group) in enumerate(runs.items()):
    colour = _COLOURS[i % len(_COLOURS)]
    seconds, mean, least, most = comparison.band(group)
    axes.plot(seconds, 100 * mean, color=colour, label=name)
    axes.fill_between(seconds, 100 * least, 100 * most, color=colour, alpha=0.2)
  axes.set_xlabel("seconds of reinforcement")
  axes.set_ylabel("first turns passed, %")
  axes.legend(frameon=False)
  return _svg(figure)


def _bars(runs: Mapping[str, Sequence[Run]]) -> markupsafe.Markup | None:
  if not runs:
    return None
  figure = Figure(figsize=(7.2, 3.2), layout="constrained")
  axes = figure.subplots()
  turns = sorted(set.union(*(set(r.final) for g in runs.values() for r in g)))
  for j, turn in enumerate(turns):
    values = [
      [100 * r.final.get(turn, math.nan) for r in g] for g in runs.values()
    ]
    means = [_mean(v) for v in values]
    axes.bar(
      [i + 0.8 * (j + 0.5) / len(turns) - 0.4 for i in range(len(runs))],
      means,
      width=0.75 / len(turns),
      yerr=[
        [m - min(v) for m, v in zip(means, values, strict=True)],
        [max(v) - m for m, v in zip(means, values, strict=True)],
      ],
      color=_COLOURS[j % len(_COLOURS)],
      label=f"by turn {turn}",
    )
  axes.set_xticks(range(len(runs)), list(runs))
  axes.set_ylabel("passed, %")
  axes.legend(frameon=False)
  return _svg(figure)


def _mean(values: Sequence[float]) -> float:
  return sum(values) / len(values)


def _svg(figure: Figure) -> markupsafe.Markup:
  text = io.StringIO()
  figure.savefig(text, format="svg", metadata={"Date": None})
  return markupsafe.Markup(text.getvalue()[text.getvalue().index("<svg") :])
