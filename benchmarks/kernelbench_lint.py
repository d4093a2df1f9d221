"""What a lint finds in KernelBench's problems: docs/kernelbench_lint.md.

Every problem is run at reduced sizes in the torch worker; `jaxkern.tasks.lint`
tries trivial answers, exchanges inputs and rounds them.

  python benchmarks/kernelbench_lint.py --kernelbench=DIR
"""

import argparse
import collections
import pathlib
import tempfile

import record

from jaxkern.tasks import kernelbench, kernelbench_function, lint
from jaxkern.tasks.torch_worker import TorchWorker

ROOT = pathlib.Path(__file__).parent.parent
HEAD = """# KernelBench's problems that fail our lint

Written by `benchmarks/kernelbench_lint.py --levels={levels}` at commit
{commit}: {bad} of {all} problems that run at reduced sizes
([how](kernelbench.md)). Tolerances are those derived for these sizes; inputs
are named x0, x1, ..., outputs y0, ..., weights as in `named_parameters`.

- *passes*: this answer, which takes no work, is right, or all but 2 % of it.
- *does not matter*: an input that may be replaced by another.
- *precision passes*: with inputs rounded to it the answer is still right.
- *NaN or Inf expected*: in an output.

{counts}

| problem | findings |
|---|---|
"""


def main():
  """Lints and writes the page."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--kernelbench", required=True)
  parser.add_argument("--levels", default="1,2")
  parser.add_argument("--out", default=ROOT / "docs/kernelbench_lint.md")
  args = parser.parse_args()
  levels = [int(k) for k in args.levels.split(",")]
  lines, counts, ran = [], collections.Counter(), 0
  with tempfile.TemporaryDirectory() as scratch, TorchWorker() as worker:
    for problem in kernelbench.problems(args.kernelbench, levels):
      try:
        found = findings(worker, problem, pathlib.Path(scratch))
      except kernelbench.Refused as error:
        print(problem.name, "not run:", error, flush=True)
        continue
      ran += 1
      print(problem.name, found, flush=True)
      counts.update({line.partition(":")[0] for line in found})
      if found:
        name = f"level{problem.level}/{problem.name}"
        lines.append(f"| {name} | {'; '.join(found)} |\n")
  told = "\n".join(f"- {kind}: {n}" for kind, n in counts.most_common())
  text = HEAD.format(
    levels=args.levels,
    commit=record.environment()["commit"],
    bad=len(lines),
    all=ran,
    counts=told,
  )
  pathlib.Path(args.out).write_text(text + "".join(lines))


def findings(worker, problem, scratch: pathlib.Path) -> list[str]:
  """The lint's lines for a problem."""
  made = kernelbench.prepare(worker, problem.source, scratch / "cache")
  function = kernelbench_function.function(worker, made, scratch / "calls")
  return lint.lint(
    function.inputs,
    function.reference,
    function.tolerance,
    others=function.others,
  ).lines()


if __name__ == "__main__":
  main()
