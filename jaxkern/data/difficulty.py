"""How hard a task is, as the number of its operations."""

import ast
import functools
from types import SimpleNamespace

import jax
import jax.numpy as jnp

from jaxkern.tasks import facts
from jaxkern.tasks.task import Task

# Methods and functions of torch that move or name data.
_FREE = frozenset(
  """view reshape permute transpose squeeze unsqueeze flatten contiguous expand
  size dim to float half clone detach t chunk split cat stack super range len
  int tuple list zip enumerate isinstance""".split()
)


def of_task(task: Task) -> int | None:
  """Operations on arrays in the reference; None if it is not jax."""
  return facts.difficulty(task) or _of_summary(task)


def of_pytorch(text: str) -> int | None:
  """Calls and operators in Model.forward; None if it cannot be read.

  Layers count as one each, so that a whole network has as many as its forward
  uses; calls that only reshape are free.
  """
  try:
    tree = ast.parse(text)
  except (SyntaxError, ValueError, RecursionError):
    return None
  forwards = [
    method
    for node in tree.body
    if isinstance(node, ast.ClassDef) and node.name == "Model"
    for method in node.body
    if isinstance(method, ast.FunctionDef) and method.name == "forward"
  ]
  if not forwards:
    return None
  return sum(_counts(node) for node in ast.walk(forwards[0]))


def _counts(node: ast.AST) -> bool:
  if isinstance(node, ast.Call):
    function = node.func
    name = getattr(function, "attr", getattr(function, "id", ""))
    return name not in _FREE
  return isinstance(node, ast.BinOp | ast.Compare)


def _of_summary(task: Task) -> int | None:
  """Of a task whose one-line summary is itself executed (tasks/recipe.py)."""
  outputs = [a.name for a in task.arguments if a.kind == "output"]
  try:
    code = compile(task.summary, "<summary>", "exec")
  except (SyntaxError, ValueError):
    return None

  @functools.partial(jax.jit, static_argnums=1)
  def run(inputs, attributes):
    """The statements' outputs."""
    scope = {"jax": jax, "jnp": jnp, **dict(attributes), **inputs}
    exec(code, scope)
    return {name: scope[name] for name in outputs}

  try:
    with jax.numpy_rank_promotion("allow"):
      return facts.difficulty(task._replace(exact=SimpleNamespace(run=run)))
  except (NameError, KeyError, TypeError):
    return None  # A sentence, not statements.
