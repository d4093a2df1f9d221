"""Import order is data order: docs/design.md, rule 1."""

import ast
import pathlib

import pytest

ORDER = (
  ("_core", "config", "tokenizer"),
  ("tasks",),
  ("models",),
  ("rollout",),
  ("evaluator",),
  ("rewards",),
  ("learning",),
  ("data",),
  ("agent",),
  ("training",),
  ("bin",),
)
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
ROOT = pathlib.Path(__file__).parents[1] / "jaxkern"


def part(module: str) -> str | None:
  """'jaxkern.tasks.suite' -> 'tasks'; None outside jaxkern."""
  names = module.split(".")
  if names[0] != "jaxkern" or len(names) < 2:
    return None
  return names[1]


def imported(source: str, module: str) -> set[str]:
  """The parts of jaxkern that `source`, the text of `module`, imports."""
  found = set()
  package = module.split(".")[:-1]
  for node in ast.walk(ast.parse(source)):
    if isinstance(node, ast.Import):
      found |= {part(alias.name) for alias in node.names}
    elif isinstance(node, ast.ImportFrom):
      base = package[: len(package) - node.level + 1] if node.level else []
      names = base + (node.module.split(".") if node.module else [])
      if names == ["jaxkern"]:  # from jaxkern import tasks
        found |= {alias.name for alias in node.names}
      else:
        found.add(part(".".join(names)))
  return found - {None}


def violations(source: str, module: str) -> list[str]:
  own = part(module)
  return [
    f"{module} imports jaxkern.{other}"
    for other in sorted(imported(source, module))
    if other != own and RANK[other] >= RANK[own]
  ]


def modules():
  for path in sorted(ROOT.rglob("*.py")):
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    if parts != ("jaxkern", "__init__"):
      yield ".".join(parts), path


@pytest.mark.parametrize(("module", "path"), list(modules()))
def test_module_imports_only_from_packages_to_its_left(module, path):
  assert part(module) in RANK, f"{module} has no place in the import order"
  assert not violations(path.read_text(), module)


@pytest.mark.parametrize(
  ("source", "module", "broken"),
  [
    ("from jaxkern.tasks import suite", "jaxkern.models.x", 0),
    ("from jaxkern.models import x", "jaxkern.tasks.suite", 1),
    ("from jaxkern import bin", "jaxkern.training.rl", 1),
    ("def f():\n  import jaxkern.training.rl", "jaxkern.data.corpus", 1),
    ("from . import task", "jaxkern.tasks.suite", 0),
    ("from ..data import corpus", "jaxkern.tasks.suite", 1),
    ("import jaxkern.tokenizer", "jaxkern.config", 1),
    ("import numpy", "jaxkern.config", 0),
  ],
)
def test_checker_finds_violations_and_nothing_else(source, module, broken):
  assert len(violations(source, module)) == broken
