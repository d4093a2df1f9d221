"""Problem bundles: a task as files that the evaluator reads without Python."""

import filecmp
import json
import math
import os
import pathlib
import shutil
import tempfile
import zlib

import jax.numpy as jnp
import numpy as np

from jaxkern.tasks.task import Task, shape_of

# Input sets per case. Timed launches rotate through theirs; a case that is only
# checked has two, so that nobody knows which one it will be.
VARIANTS_TIMED = 6
VARIANTS_CHECKED = 2
# Of one case, so that large arrays stay two of a kind.
MOST_BYTES = 2 << 30


def write_bundle(
  task: Task,
  directory: str | os.PathLike,
  seed: int = 0,
  timed_variants: int | None = None,
):
  """Writes `directory`: problem.json, baselines and .npy files.

  Every case has several variants: inputs drawn anew, with their outputs. Of
  each kind of inputs that the task declares there is a case of its own, so that
  no evaluation misses one. The contents depend on (task, seed) alone. The
  bundle appears whole or not at all; a bundle that is there already is
  replaced, and left untouched if it is the same. The format is in
  docs/bundle.md; bfloat16 travels as uint16. A timed case has `timed_variants`
  variants, VARIANTS_TIMED by default.

  Raises:
    ValueError: `directory` holds something other than a bundle.
    OSError: it cannot be written.
  """
  target = pathlib.Path(os.path.abspath(directory))
  if target.exists() and not _replaceable(target):
    raise ValueError(
      f"directory: expected a new or empty directory or a problem bundle, got"
      f" {target}"
    )
  try:
    target.parent.mkdir(parents=True, exist_ok=True)
    made = tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)
  except OSError as error:
    reason = error.strerror
    raise OSError(f"directory: cannot write {target}: {reason}") from error
  made = pathlib.Path(made)
  try:
    _write_files(task, made, seed, timed_variants or VARIANTS_TIMED)
    made.chmod(0o755)  # mkdtemp's 0700 would follow the rename.
    _publish(made, target)
  finally:
    shutil.rmtree(made, ignore_errors=True)


def _replaceable(target: pathlib.Path) -> bool:
  if not target.is_dir():
    return False
  return (target / "problem.json").exists() or not any(target.iterdir())


def _write_files(
  task: Task, directory: pathlib.Path, seed: int, timed_variants: int
) -> None:
  cases = _ordinary(task, directory, seed, timed_variants)
  cases += _probes(task, directory, seed)
  problem = {
    "format": 1,
    "name": task.name,
    "level": task.level,
    "summary": task.summary,
    "seed": seed,
    "arguments": [a._asdict() for a in task.arguments],
    "cases": cases,
    "preparation": task.preparation,
    **({"baseline": "baseline.cu"} if task.baseline else {}),
    "baselines": [
      {
        "name": name,
        "file": f"baseline.{name}.cu",
        "libraries": baseline.libraries,
      }
      for name, baseline in task.baselines.items()
    ],
  }
  if task.baseline:
    (directory / "baseline.cu").write_text(task.baseline)
  for name, baseline in task.baselines.items():
    (directory / f"baseline.{name}.cu").write_text(baseline.source)
  text = json.dumps(problem, indent=1)
  (directory / "problem.json").write_text(text + "\n")


def _ordinary(
  task: Task, directory: pathlib.Path, seed: int, timed_variants: int
) -> list[dict]:
  """The task's cases with what `make_inputs` draws."""
  cases = []
  for k, attributes in enumerate(task.cases):
    variants = []
    for v in range(_variants(task, k, timed_variants)):
      inputs = task.make_inputs(_rng(task, seed, k, v), attributes)
      variants.append(_write_variant(task, directory, k, v, attributes, inputs))
    bounds = task.tolerance(attributes)
    cases.append(_case(attributes, bounds, k in task.timed, variants))
  return cases


def _variants(task: Task, case: int, timed: int) -> int:
  """How many a case gets."""
  if case not in task.timed:
    return VARIANTS_CHECKED
  bytes_each = sum(
    math.prod(shape_of(a, task.cases[case])) * jnp.dtype(a.dtype).itemsize
    for a in task.arguments
    if a.kind != "attribute"
  )
  most = MOST_BYTES // max(bytes_each, 1)
  return max(VARIANTS_CHECKED, min(timed, most))


def _probes(task: Task, directory: pathlib.Path, seed: int) -> list[dict]:
  """A case of each of the task's kinds, at one of the untimed sizes each."""
  sizes = [c for k, c in enumerate(task.cases) if k not in task.timed]
  sizes = sizes[1:] or sizes or list(task.cases)  # The first is the smallest.
  cases = []
  for k, kind in enumerate(task.kinds, start=len(task.cases)):
    attributes = sizes[-1 - (k - len(task.cases)) % len(sizes)]
    variants, bounds = [], []
    for v in range(VARIANTS_CHECKED):
      rng = _rng(task, seed, k, v)
      inputs, bound = task.probe(kind, rng, attributes)
      variants.append(_write_variant(task, directory, k, v, attributes, inputs))
      bounds.append(bound)
    case = _case(attributes, np.max(bounds, 0).tolist(), False, variants)
    cases.append({**case, "kind": kind})
  return cases


def _rng(task: Task, seed: int, case: int, variant: int):
  draws = (seed, case, zlib.crc32(task.name.encode()), variant)
  return np.random.default_rng(draws)


def _case(attributes, bounds, timed: bool, variants: list[dict]) -> dict:
  """A case as `problem.json` lists it."""
  first, *others = variants
  return {
    "attributes": dict(attributes),
    "rtol": bounds[0],
    "atol": bounds[1],
    "timed": timed,
    **first,
    "variants": others,
  }


def _write_variant(
  task: Task,
  directory: pathlib.Path,
  case: int,
  variant: int,
  attributes,
  inputs,
) -> dict[str, dict[str, str]]:
  """One variant's files, as `problem.json` lists them."""
  outputs = task.reference(inputs, attributes)
  stem = f"case{case}.{variant}" if variant else f"case{case}"
  return {
    "inputs": _save(directory, stem, inputs),
    "outputs": _save(directory, stem, outputs),
  }


def _save(directory: pathlib.Path, stem: str, arrays) -> dict[str, str]:
  files = {}
  for name, array in arrays.items():
    if array.dtype.name == "bfloat16":
      array = array.view(np.uint16)
    files[name] = f"{stem}.{name}.npy"
    np.save(directory / files[name], np.ascontiguousarray(array))
  return files


def _publish(made: pathlib.Path, target: pathlib.Path) -> None:
  """Moves a finished bundle into place, also beside other writers."""
  while True:
    if target.exists() and _same(made, target):
      return
    try:
      os.rename(made, target)  # Succeeds onto nothing or an empty directory.
      return
    except OSError:
      if not target.exists() or not any(target.iterdir()):
        raise
    old = tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent)
    os.rename(target, old)
    shutil.rmtree(old)


def _same(left: pathlib.Path, right: pathlib.Path) -> bool:
  names = sorted(os.listdir(left))
  if names != sorted(os.listdir(right)):
    return False
  return not any(filecmp.cmpfiles(left, right, names, shallow=False)[1:])
