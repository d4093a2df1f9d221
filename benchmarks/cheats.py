"""How many cheats an evaluator sees, and how many honest kernels it blames.

The corpus is tests/cheats: candidates that cheat, honest ones that look like
them, and kernels in many styles that do neither.

  python benchmarks/cheats.py --device=cpu
  python benchmarks/cheats.py --honest=0 --device=cuda \\
    --command='other-harness --problem {bundle} --kernel {source}'

A command is run once per candidate; the last line of its stdout that is a JSON
object must hold `status`, "ok" for a kernel that passes and any other word for
one that does not, and may hold `rule`, `evidence`, `log` and `times_us`, as
jaxkern-eval prints them. {bundle} is a directory as in docs/bundle.md, {source}
the candidate's file, {repetitions} and {device} what they say.
"""

import argparse
import collections
import contextlib
import json
import pathlib
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import record

from jaxkern.data import kernels, styles
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle, suite

TESTS = pathlib.Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS / "cheats"), str(TESTS / "conformance")]

import corpus  # noqa: E402
import kernels as conformance  # noqa: E402

TIMEOUT_S = 120
# Not a word about what the candidate does, good or bad.
UNJUDGED = ("unsupported", "infra_error")
UNBUILT = ("compile_error", "link_error")
# Of a task's styles, which a proposal is drawn from.
SEED = 7


class Trial(NamedTuple):
  """A source to judge: for which bundle, and how often timed."""

  name: str
  bundle: str
  source: str
  repetitions: int


Judge = Callable[[Sequence[Trial]], list[dict]]


def ours(evaluator: Evaluator, rules: bool = True) -> Judge:
  """Asks our evaluator."""

  def judge(trials: Sequence[Trial]) -> list[dict]:
    """All in one call: they are compiled side by side."""
    requests = [
      Request(t.bundle, t.source, t.repetitions, rules=rules) for t in trials
    ]
    return [result.to_dict() for result in evaluator.evaluate(requests)]

  return judge


def theirs(command: str, device: str, directory: pathlib.Path) -> Judge:
  """Runs a command per trial; without an answer the status is infra_error."""

  def ask(trial: Trial) -> dict:
    """Runs the command on one trial."""
    source = directory / f"{trial.name}.cu"
    source.write_text(trial.source)
    words = [
      word.format(
        bundle=trial.bundle,
        source=source,
        repetitions=trial.repetitions,
        device=device,
      )
      for word in shlex.split(command)
    ]
    try:
      done = subprocess.run(
        words, stdout=subprocess.PIPE, text=True, timeout=TIMEOUT_S
      )
    except subprocess.TimeoutExpired:
      return {"status": "infra_error", "log": f"no answer in {TIMEOUT_S} s"}
    return answer(done.stdout)

  return lambda trials: [ask(trial) for trial in trials]


def answer(text: str) -> dict:
  """The last JSON object with a status among the lines of a text."""
  for line in reversed(text.splitlines()):
    with contextlib.suppress(json.JSONDecodeError):
      found = json.loads(line)
      if isinstance(found, dict) and isinstance(found.get("status"), str):
        return found
  return {"status": "infra_error", "log": "no JSON line with a status"}


def outcome(candidate: corpus.Candidate, device: str, verdict: dict) -> str:
  """'caught', 'missed', 'passed', 'false positive' or 'not judged'.

  A cheat that may pass because it gains nothing is 'harmless' when it does.
  """
  status = verdict["status"]
  if status in UNJUDGED:
    return "not judged"
  if candidate.honest:
    return "passed" if status == "ok" else "false positive"
  if status in UNBUILT and status not in candidate.expected(device):
    return "not judged"
  if status != "ok":
    return "caught"
  samples = len(verdict.get("times_us", ()))
  harmless = candidate.right(device, "ok", "", samples)
  return "harmless" if harmless else "missed"


def write_bundles(names: set[str], directory: pathlib.Path) -> dict[str, str]:
  """Bundles of the corpus' and the suite's tasks by task."""
  paths = {}
  for name in sorted(names):
    paths[name] = str(directory / name)
    bundle.write_bundle(corpus.task(name), paths[name])
  return paths


def judge_corpus(judge: Judge, device: str, directory: pathlib.Path) -> dict:
  """Verdicts and outcomes of the candidates for a device, by name."""
  chosen = [c for c in corpus.candidates() if c.on(device)]
  bundles = write_bundles({c.task for c in chosen}, directory / "bundles")
  verdicts = []
  for late in (False, True):  # what comes after others is judged after them
    verdicts += judge(
      [
        Trial(c.name, bundles[c.task], c.source(), c.repetitions)
        for c in chosen
        if bool(c.after) == late
      ]
    )
  return {
    c.name: {
      "entries": c.entries,
      "what": c.what,
      "honest": c.honest,
      "outcome": outcome(c, device, verdict),
      "expected": verdict["status"] in c.expected(device),
      "needs": c.needs,
      "status": verdict["status"],
      "rule": verdict.get("rule", ""),
      "evidence": verdict.get("evidence", ""),
      "log": verdict.get("log", "")[:300],
    }
    for c, verdict in zip(chosen, verdicts, strict=True)
  }


def honest_trials(count: int, directory: pathlib.Path) -> list[Trial]:
  """Conformance kernels, then kernels of all tasks in styles of all kinds."""
  trials = []
  (directory / "conformance").mkdir()
  for name in conformance.names()[:count]:
    path = conformance.write_bundle(name, directory / "conformance")
    trials.append(Trial(name, path, conformance.source(name), 5))
  rng = np.random.default_rng(SEED)
  names = suite.names()
  seen = set()
  bundles = write_bundles(set(names), directory / "suite")
  while len(trials) < count:
    name = names[len(trials) % len(names)]
    recipe = suite.recipe(name)
    source = kernels.write(recipe, styles.draw(recipe.family, rng))
    if (name, source) not in seen:
      seen.add((name, source))
      label = f"{name}_{len(trials)}"
      trials.append(Trial(label, bundles[name], source, 5))
  return trials


def judge_honest(judge: Judge, count: int, directory: pathlib.Path) -> dict:
  """What became of `count` honest kernels."""
  trials = honest_trials(count, directory) if count else []
  verdicts = judge(trials)
  wrong = {
    trial.name: {key: verdict.get(key, "") for key in ("status", "rule", "log")}
    for trial, verdict in zip(trials, verdicts, strict=True)
    if verdict["status"] not in ("ok", *UNJUDGED)
  }
  unjudged = sum(verdict["status"] in UNJUDGED for verdict in verdicts)
  return {
    "judged": len(trials) - unjudged,
    "not_judged": unjudged,
    "false_positives": wrong,
  }


def print_sheet(rows: dict, device: str) -> None:
  """One line per candidate, by entry of the catalogue."""
  by_entry = collections.defaultdict(list)
  for name, row in rows.items():
    by_entry[row["entries"][0]].append((name, row))
  for entry in corpus.catalogue():
    print(f"{entry['entry']:2} {entry['trick'][:76]}")
    for name, row in by_entry.get(entry["entry"], ()):
      shown = row["evidence"] or row["log"].partition("\n")[0]
      rule = f" ({row['rule']})" if row["rule"] else ""
      print(
        f"     {row['outcome']:14} {name:32} {row['status'] + rule:24}"
        f" {shown[:60]}"
      )
    if entry["entry"] not in by_entry:
      print(f"     {entry.get('note', 'not for ' + device)}")


def raw_passes(
  evaluator: Evaluator, device: str, directory: pathlib.Path
) -> list[str]:
  """The cheats that a harness without rules would take for right."""
  rows = judge_corpus(ours(evaluator, rules=False), device, directory)
  return [
    name
    for name, row in rows.items()
    if row["status"] == "ok" and not row["honest"]
  ]


def totals(rows: dict, honest: dict) -> dict:
  """Both rates."""
  count = collections.Counter(row["outcome"] for row in rows.values())
  stopped = count["caught"] + count["harmless"]
  cheats = stopped + count["missed"]
  like = count["passed"] + count["false positive"]
  wrong = count["false positive"] + len(honest["false_positives"])
  return {
    "cheats_judged": cheats,
    "cheats_caught": stopped,
    "caught_percent": 100 * stopped / max(cheats, 1),
    "look_alikes_judged": like,
    "honest_judged": honest["judged"],
    "false_positives": wrong,
    "false_positive_percent": 100 * wrong / max(like + honest["judged"], 1),
    "not_judged": count["not judged"] + honest["not_judged"],
  }


def parse_flags():
  """The command line's."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
  flags.add_argument("--command", help="another harness, see above")
  flags.add_argument("--honest", type=int, default=200, help="kernels")
  flags.add_argument("--out", help="default: benchmarks/results/")
  return flags.parse_args()


def main() -> int:
  """Prints the sheet and writes the record; 1 if not all is as it should be."""
  flags = parse_flags()
  environment = record.environment()
  out = flags.out or (
    pathlib.Path(__file__).parent / f"results/cheats_{flags.device}.json"
  )
  with tempfile.TemporaryDirectory() as directory, contextlib.ExitStack() as s:
    directory = pathlib.Path(directory)
    if flags.command:
      judge = theirs(flags.command, flags.device, directory)
      description = flags.command
    else:
      evaluator = s.enter_context(
        Evaluator(flags.device, cache_dir=directory / "cache")
      )
      judge, description = ours(evaluator), evaluator.describe()
    rows = judge_corpus(judge, flags.device, directory)
    honest = judge_honest(judge, flags.honest, directory)
    raw = (
      [] if flags.command else raw_passes(evaluator, flags.device, directory)
    )
  print_sheet(rows, flags.device)
  for name, wrong in honest["false_positives"].items():
    print(f"   false positive {name:32} {wrong['status']} {wrong['log'][:60]}")
  rates = totals(rows, honest)
  print(
    f"{flags.device}: {rates['cheats_caught']} of {rates['cheats_judged']}"
    f" cheats caught ({rates['caught_percent']:.1f} %),"
    f" {rates['false_positives']} false positives among"
    f" {rates['look_alikes_judged']} look-alikes and {rates['honest_judged']}"
    f" honest kernels, {rates['not_judged']} not judged"
  )
  if not flags.command:
    print(f"{len(raw)} of the cheats pass where no rules are asked for")
  record.write(
    out,
    {
      "environment": environment,
      "evaluator": description,
      "device": flags.device,
      "totals": rates,
      "cheats_passing_without_rules": raw,
      "candidates": rows,
      "honest": honest,
    },
  )
  return int(rates["caught_percent"] < 100 or rates["false_positives"] > 0)


if __name__ == "__main__":
  sys.exit(main())
