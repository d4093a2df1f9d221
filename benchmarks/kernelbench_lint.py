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

Written by `benchmarks/kernelbench_lint.py --levels={levels}` at commit
{commit}: {bad} of {all} problems that run at reduced sizes
([how](kernelbench.md)) have a finding by our tolerance, which is derived for
these sizes; {worse} more have one by the benchmark's own. Inputs are named x0,
x1, ..., outputs y0, ..., weights as in `named_parameters`.

- *passes*: this answer, which takes no work, is right, or all but 2 % of it.
- *does not matter*: an input that may be replaced by another.
- *precision passes*: with inputs rounded to it the answer is still right.
- *NaN or Inf expected*: in an output.

Sizes are part of it: outputs that are small at a problem's own sizes (a softmax
of many columns) are larger here, and fewer answers pass by an absolute 1e-4.

{counts}

| problem | by our tolerance | more by 1e-4 (now) | more by 1e-2 (v0.1) |
|---|---|---|---|
"""
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
  known = json.loads(path.read_text())["problems"] if path.exists() else {}
  environment = record.environment()
  with tempfile.TemporaryDirectory() as scratch, TorchWorker() as worker:
    for problem in kernelbench.problems(args.kernelbench, levels):
      name = f"level{problem.level}/{problem.name}"
      if name not in known:
        known[name] = findings(worker, problem, pathlib.Path(scratch))
        print(name, known[name], flush=True)
        record.write(path, {"environment": environment, "problems": known})
  pathlib.Path(args.page).write_text(page(known, args.levels, environment))


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


def page(problems: dict, levels: str, environment: dict) -> str:
  """The page's text."""
  ran = {name: by for name, by in problems.items() if "refused" not in by}
  counts, rows = collections.Counter(), []
  for name, by in ran.items():
    ours = by["ours"]
    now = [line for line in by["1e-4"] if line not in ours]
    before = [line for line in by["1e-2"] if line not in ours + now]
    counts.update({line.partition(":")[0] for line in ours})
    if ours or now or before:
      cells = ("; ".join(lines) for lines in (ours, now, before))
      rows.append(f"| {' | '.join([name, *cells])} |\n")
  bad = sum(bool(by["ours"]) for by in ran.values())
  told = "\n".join(f"- {kind}: {n}" for kind, n in counts.most_common())
  head = HEAD.format(
    levels=levels,
    commit=environment["commit"],
    bad=bad,
    worse=len(rows) - bad,
    all=len(ran),
    counts=told,
  )
  return head + "".join(rows)


if __name__ == "__main__":
  main()
