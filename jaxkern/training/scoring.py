"""Kernels from anywhere, judged over many tasks: JSON lines, scores, a page.

A writer gives texts for an item, a judge gives verdicts; both are functions.
What is judged is appended to results.jsonl at once, so that whoever is killed
goes on where it was.
"""

import concurrent.futures
import json
import os
import pathlib
import statistics
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import tqdm

from jaxkern.data import kernelbench_files
from jaxkern.data.jsonl import cut_unfinished, read_lines
from jaxkern.evaluator import Evaluator, Request
from jaxkern.rewards import scores
from jaxkern.training import scoring_page


class Item(NamedTuple):
  """Something to be solved.

  Attributes:
    task: its name.
    level, number: as its suite counts; number 0 where it does not.
    prompt: the text for a model.
    subject: what the judge takes: a Task, or a KernelBench problem.
  """

  task: str
  level: int
  number: int
  prompt: str
  subject: Any


# (item, samples that are wanted) -> their texts; None where there is none.
Writer = Callable[[Item, Sequence[int]], Sequence[str | None]]
# (item, text) -> {'status', 'raw_status', 'log', 'times_us', 'us', ...}
Judge = Callable[[Item, str], dict]


def score(
  items: Sequence[Item],
  writer: Writer,
  judge: Judge,
  out: str | os.PathLike,
  *,
  samples: int = 1,
  ks: Sequence[int] = (1,),
  threads: int = 2,
  title: str = "evaluation",
  settings: Mapping[str, Any] | None = None,
) -> dict:
  """Judges `samples` texts per item; leaves files in `out`.

  results.jsonl (every text with its verdict), summary.json, evaluation.html,
  settings.json. What results.jsonl has already is not written or judged again,
  but for what failed through no fault of the kernel (infra_error).

  `settings` is what verdicts depend on, as JSON has it.

  Returns:
    The summary: `scores.summarise` of all rows.

  Raises:
    ValueError: `out` holds verdicts under other settings.
  """
  out = pathlib.Path(out)
  out.mkdir(parents=True, exist_ok=True)
  path = out / "results.jsonl"
  _keep_settings(out / "settings.json", settings or {}, path)
  wanted = {(item.task, k) for item in items for k in range(samples)}
  rows = _final(path, wanted)
  done = {(row["task"], row["sample"]) for row in rows}
  missing = [
    (item, [k for k in range(samples) if (item.task, k) not in done])
    for item in items
  ]
  bar = tqdm.tqdm(
    total=len(wanted), initial=len(rows), desc=title, unit="kernel"
  )
  lock = threading.Lock()
  with bar, open(path, "a", encoding="utf-8") as file:

    def judge_one(item: Item, sample: int, text: str | None) -> None:
      """Keeps the verdict as soon as there is one."""
      row = _row(item, sample, text, judge)
      with lock:
        file.write(json.dumps(row) + "\n")
        file.flush()
        rows.append(row)
        bar.update()

    _write_and_judge(missing, writer, judge_one, threads)
  return finish(rows, out, ks, title)


def newest(rows: Sequence[dict]) -> list[dict]:
  """The last row of each sample: one that failed may have been judged again."""
  return list({(r["task"], r["sample"]): r for r in rows}.values())


def finish(
  rows: Sequence[dict], out: str | os.PathLike, ks: Sequence[int], title: str
) -> dict:
  """Scores rows, writes summary.json and the page; returns the summary."""
  out = pathlib.Path(out)
  out.mkdir(parents=True, exist_ok=True)
  rows = sorted(rows, key=lambda r: (r["level"], r["task"], r["sample"]))
  summary = scores.summarise(rows, ks)
  (out / "summary.json").write_text(json.dumps(summary, indent=1) + "\n")
  scoring_page.write(out / "evaluation.html", rows, summary, title)
  for level in {int(r["level"]) for r in rows if r.get("number")}:
    kernelbench_files.write_run(
      out / f"kernelbench_level{level}", rows, level, ks
    )
  return summary


def _keep_settings(
  path: pathlib.Path, settings: Mapping[str, Any], results: pathlib.Path
) -> None:
  """Writes the settings, or refuses verdicts that were made under others."""
  settings = json.loads(json.dumps(settings))
  if results.exists() and results.stat().st_size:
    old = json.loads(path.read_text()) if path.exists() else None
    if old is None:
      raise ValueError(f"{results}: expected {path.name} beside it, got none")
    for key in sorted(settings.keys() | old.keys()):
      had, wants = old.get(key), settings.get(key)
      if had != wants:
        raise ValueError(
          f"{path}: {key}: expected {had!r} as in the verdicts there, got "
          f"{wants!r}; another --out starts anew"
        )
  path.write_text(json.dumps(settings, indent=1) + "\n")


def _final(path: pathlib.Path, wanted: Set[tuple[str, int]]) -> list[dict]:
  """What need not be judged again; what a killed writer left is cut off."""
  cut_unfinished(path)
  return [
    row
    for row in newest(read_lines(path))
    if (row["task"], row["sample"]) in wanted and row["status"] != "infra_error"
  ]


def _write_and_judge(
  missing: Sequence[tuple[Item, Sequence[int]]],
  writer: Writer,
  judge_one: Callable[[Item, int, str | None], None],
  threads: int,
) -> None:
  """Judges in threads while more is written, but not much more."""
  pending: set = set()
  with concurrent.futures.ThreadPoolExecutor(threads) as pool:
    for item, samples in missing:
      if not samples:
        continue
      for k, text in zip(samples, writer(item, samples), strict=True):
        pending.add(pool.submit(judge_one, item, k, text))
      pending = _wait(pending, 2 * threads)
    _wait(pending, 0)


def _wait(pending: set, most: int) -> set:
  """Waits until at most that many are pending."""
  while len(pending) > most:
    done, pending = concurrent.futures.wait(
      pending, return_when=concurrent.futures.FIRST_COMPLETED
    )
    for future in done:
      future.result()
  return pending


def _row(item: Item, sample: int, text: str | None, judge: Judge) -> dict:
  row = {
    "task": item.task,
    "level": item.level,
    "number": item.number,
    "sample": sample,
    "source": text or "",
  }
  if text is None:
    return {**row, "status": "extract_error", "log": "there is no kernel"}
  return {**row, **judge(item, text)}


def suite_judge(evaluator: Evaluator, repetitions: int) -> Judge:
  """Judges items whose subject is a Task."""

  def judge(item: Item, text: str) -> dict:
    """Against the task's naive kernel; raw verdicts where rules were broken."""
    request = Request(item.subject, text, repetitions)
    (result,) = evaluator.evaluate([request])
    raw = result.status
    if raw == "cheating":
      (other,) = evaluator.evaluate([request._replace(rules=False)])
      raw = other.status
    times = list(result.times_us)
    return {
      "status": result.status,
      "raw_status": raw,
      "log": result.log,
      "times_us": times,
      "us": statistics.median(times) if times else 0.0,
      "baseline_us": result.baseline_us,
    }

  return judge


def kernelbench_judge(pairs: Any, roof: tuple[float, float] | None) -> Judge:
  """Judges items whose subject is a problem's text.

  Args:
    pairs: a jaxkern.evaluator.pairs.Judge.
    roof: (FLOP per second, bytes per second) for `roofline`, or None.
  """

  def judge(item: Item, text: str) -> dict:
    """Against the reference in torch; the raw verdict is by their tolerance."""
    verdict = pairs.judge(item.subject, text)
    cost = verdict["evidence"].get("cost", {})
    first = next(iter(verdict["baselines"].values()), {})
    row = {
      k: verdict[k]
      for k in ("status", "log", "times_us", "us", "road", "device")
    }
    row["raw_status"] = verdict["kernelbench_status"]
    row["baseline_us"] = first.get("us", 0.0)
    row["flops"], row["bytes"] = cost.get("flops", 0), cost.get("bytes", 0)
    if roof and verdict["us"]:
      row["roofline"] = scores.roofline_share(
        verdict["us"], row["flops"], row["bytes"], *roof
      )
    return row

  return judge
