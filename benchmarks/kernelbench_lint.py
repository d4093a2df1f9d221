"""What a lint finds in KernelBench's problems: docs/kernelbench_lint.md.

Every problem is run at reduced sizes in the torch worker; `jaxkern.tasks.lint`
tries trivial answers, exchanges inputs and rounds them, by our tolerance and by
the benchmark's.

  python benchmarks/kernelbench_lint.py --kernelbench=DIR

What is found is kept in --out; a record that is there is continued, and the
page written from what it has.
"""

import argparse
import collections
import hashlib
import json
import pathlib
import tempfile

import record

from jaxkern.tasks import kernelbench, kernelbench_function, lint
from jaxkern.tasks.torch_worker import TorchWorker

ROOT = pathlib.Path(__file__).parent.parent
RECORD = ROOT / "benchmarks/results/kernelbench_lint.json"
HEAD = """# KernelBench's problems that fail our lint

Written by `benchmarks/kernelbench_lint.py` from
`benchmarks/results/kernelbench_lint.json` (commit {commit}): {ran} problems
that run at reduced sizes ([how](kernelbench.md)), by three tolerances: ours,
which is derived for these sizes, the benchmark's present one, 1e-4, and 1e-2 of
v0 and v0.1.

- *passes*: this answer, which takes no work, is right, or all but 2 % of it.
- *does not matter*: an input that may be replaced by another.
- *precision passes*: with inputs rounded to it the answer is still right.

Inputs are named x0, x1, ..., weights as in `named_parameters`. Sizes are part
of it: outputs that are small at a problem's own sizes (a softmax of many
columns) are larger here, and fewer answers pass by an absolute tolerance. A
bias before a normalisation has no influence by design; it is listed
nonetheless, since a candidate may leave it out.

| level | run | tolerance | any | passes | does not matter | precision passes |
|---|---|---|---|---|---|---|
{counts}
"""
TABLE = """
## {title}

| problem | findings |
|---|---|
"""
KINDS = ("passes", "does not matter", "precision passes")
TOLERANCES = {
  "ours": None,
  "1e-4": (kernelbench.TOLERANCE,) * 2,
  "1e-2": (kernelbench.TOLERANCE_V01,) * 2,
}


def main():
  """Lints what the record lacks and writes the page."""
  parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  parser.add_argument("--kernelbench", required=True)
  parser.add_argument("--levels", default="1,2,3")
  parser.add_argument("--out", default=RECORD)
  parser.add_argument("--page", default=ROOT / "docs/kernelbench_lint.md")
  args = parser.parse_args()
  path = pathlib.Path(args.out)
  levels = [int(k) for k in args.levels.split(",")]
  made = {"environment": record.environment(), "problems": {}}
  if path.exists():
    made = json.loads(path.read_text())
  known = made["problems"]
  with tempfile.TemporaryDirectory() as scratch, TorchWorker() as worker:
    for problem in kernelbench.problems(args.kernelbench, levels):
      name = f"level{problem.level}/{problem.name}"
      if name not in known:
        known[name] = findings(worker, problem, pathlib.Path(scratch))
        print(name, known[name], flush=True)
        record.write(path, made)
  pathlib.Path(args.page).write_text(page(known, made["environment"]))


def findings(worker, problem, scratch: pathlib.Path) -> dict:
  """The lint's lines by tolerance, or why the problem is not run."""
  try:
    made = kernelbench.prepare(worker, problem.source, scratch / "cache")
    function = kernelbench_function.function(worker, made, scratch / "calls")
    reference = remembering(function.reference)
    return {
      name: lint.lint(
        function.inputs,
        reference,
        given or function.tolerance,
        others=function.others,
      ).lines()
      for name, given in TOLERANCES.items()
    }
  except kernelbench.Refused as error:
    return {"refused": str(error)[:300]}


def remembering(reference):
  """The same, but called once for equal arrays: a call is a forward."""
  made = {}

  def call(arrays):
    """As the reference."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
      digest.update(name.encode() + arrays[name].tobytes())
    key = digest.digest()
    if key not in made:
      made[key] = reference(arrays)
    return made[key]

  return call


def page(problems: dict, environment: dict) -> str:
  """The page's text."""
  ran = {name: by for name, by in problems.items() if "refused" not in by}
  text = HEAD.format(
    commit=environment["commit"], ran=len(ran), counts=counts(ran)
  )
  ours = {name: by["ours"] for name, by in ran.items()}
  now = {name: more(by["1e-4"], by["ours"]) for name, by in ran.items()}
  # Nearly all let every precision pass.
  before = {
    name: [
      line
      for line in more(by["1e-2"], by["ours"] + by["1e-4"])
      if not line.startswith("precision")
    ]
    for name, by in ran.items()
  }
  text += table("By our tolerance", ours)
  text += table("By 1e-4, beside these", now)
  text += table("By 1e-2, beside these, precision aside", before)
  reasons = {
    name: [by["refused"].splitlines()[0].replace("|", "/")[:160]]
    for name, by in problems.items()
    if "refused" in by
  }
  return text + table("Not run", reasons)


def more(lines: list[str], known: list[str]) -> list[str]:
  """Those that are not known."""
  return [line for line in lines if line not in known]


def counts(ran: dict) -> str:
  """How many problems have what, a row per level and tolerance."""
  rows = []
  for level in sorted({name.partition("/")[0] for name in ran}):
    some = [by for name, by in ran.items() if name.startswith(f"{level}/")]
    for tolerance in TOLERANCES:
      found = [by[tolerance] for by in some]
      kinds = [{line.partition(":")[0] for line in lines} for lines in found]
      cells = [level.removeprefix("level"), len(some), tolerance]
      cells += [sum(map(bool, found))]
      cells += [sum(kind in k for k in kinds) for kind in KINDS]
      rows.append(f"| {' | '.join(map(str, cells))} |")
  return "\n".join(rows)


def table(title: str, findings: dict) -> str:
  """A section, of the problems that have any."""
  rows = [
    f"| {name} | {'; '.join(grouped(lines))} |\n"
    for name, lines in findings.items()
    if lines
  ]
  return TABLE.format(title=title) + "".join(rows) if rows else ""


def grouped(lines: list[str]) -> list[str]:
  """A part per kind, its names after it, the first five of them."""
  kinds = collections.defaultdict(list)
  for line in lines:
    kind, _, name = line.partition(": ")
    kinds[kind].append(name)
  parts = []
  for kind, names in kinds.items():
    shown = ", ".join(names[:5])
    rest = f" and {len(names) - 5} more" if len(names) > 5 else ""
    parts.append(f"{kind}: {shown}{rest}" if shown else kind)
  return parts


if __name__ == "__main__":
  main()
