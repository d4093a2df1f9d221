"""Tasks of a few lines, in a file or in the suite."""

import json

import numpy as np
import pytest

from jaxkern.tasks import suite
from jaxkern.tasks.define import define

TEXT = """
from jaxkern.tasks.define import define

TASK = define(
  "swish",
  "x[rows, cols], g[cols], a=1.5 -> y[rows, cols]",
  "y = jax.nn.silu(a * x) * g",
  sizes={"rows": (1, 7, 33, 512), "cols": (3, 33, 17, 4096)},
)
"""


def test_file_is_a_task(tmp_path):
  path = tmp_path / "swish.py"
  path.write_text(TEXT)
  task = suite.get(str(path))
  assert [a.name for a in task.arguments] == [
    "x",
    "g",
    "y",
    "rows",
    "cols",
    "a",
  ]
  assert task.cases == (
    {"rows": 1, "cols": 3, "a": 1.5},
    {"rows": 7, "cols": 33, "a": 1.5},
  )
  assert task.hidden[0]["rows"] == 33 and task.large[0]["rows"] == 512
  x, g = np.full((1, 3), 2, np.float32), np.arange(3, dtype=np.float32)
  y = task.reference({"x": x, "g": g}, task.cases[0])["y"]
  np.testing.assert_allclose(y[0], g * 3 / (1 + np.exp(-3)), rtol=1e-6)
  assert y.dtype == np.float32


def test_function_of_numpy_arrays_is_a_reference():
  def reference(x, a):
    """Doubled, more or less."""
    return a * np.sort(x, axis=-1)

  task = define("s", "x[n], a=2 -> y[n]", reference, sizes={"n": (20, 40, 50)})
  y = task.reference({"x": np.array([3, 1], np.float32)}, {"n": 2, "a": 2.0})
  assert y["y"].tolist() == [2, 6] and task.summary == "Doubled, more or less."


def test_lines_of_a_problem_set_are_tasks(tmp_path):
  path = tmp_path / "p.jsonl"
  problem = {
    "name": "one",
    "signature": "x[n] -> y[n]",
    "reference": "y = x + 1",
    "sizes": {"n": [3, 5, 7]},
  }
  lines = [problem, {**problem, "name": "two"}]
  path.write_text("\n".join(map(json.dumps, lines)))
  assert suite.get(f"{path}:two").name == "two"
  with pytest.raises(ValueError, match="this has one, two"):
    suite.get(str(path))


def test_a_file_is_a_set_of_tasks(tmp_path):
  (tmp_path / "swish.py").write_text(TEXT)
  problem = {"name": "one", "signature": "x[n] -> y[n]", "reference": "y = x"}
  problem |= {"sizes": {"n": [3, 5, 7]}, "level": 2}
  (tmp_path / "p.jsonl").write_text(json.dumps(problem))
  names = [task.name for task in suite.select(str(tmp_path), "test")]
  assert names == ["one", "swish"]  # Whatever split they are of.
  assert [t.name for t in suite.select(str(tmp_path), level=2)] == ["one"]
  with pytest.raises(ValueError, match="no task of .* is of this split"):
    suite.select(str(tmp_path), level=3)


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"signature": "x[n]"}, "expected 'inputs -> outputs'"),
    ({"signature": "x(n) -> y[n]"}, r"got 'x\(n\)'"),
    ({"signature": "x:q8[n] -> y[n]"}, "expected a dtype"),
    ({"sizes": {"m": (1, 2, 3)}}, "expected values of 'n', got none"),
    ({"sizes": {"n": (1, 2)}}, "3 or more"),
    ({"dtype": "f8"}, "dtype: expected one of"),
  ],
)
def test_mistakes_are_named(change, message):
  arguments = {
    "signature": "x[n] -> y[n]",
    "reference": "y = x",
    "sizes": {"n": (1, 2, 3)},
  }
  with pytest.raises(ValueError, match=message):
    define("t", **{**arguments, **change})
