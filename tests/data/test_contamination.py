"""What is told to be an evaluation's."""

import pytest

from jaxkern.data import contamination
from jaxkern.data.contamination import Detector, Evaluated
from jaxkern.tasks import suite

HELD_OUT = contamination.held_out()


@pytest.mark.parametrize(
  ("name", "operation"),
  [
    ("19_ReLU.py", "relu"),
    ("level1/23_Softmax", "softmax"),
    ("softmax_f16", "softmax"),
    ("row_sum_int32", "row_sum"),
    ("Matmul-Scale", "matmul_scale"),
    ("conv2d", "conv2d"),
  ],
)
def test_names_of_an_operation(name, operation):
  assert contamination.operation(name) == operation


def test_a_held_out_task_is_found_by_name_in_any_dtype():
  detector = Detector(HELD_OUT, 13, 0.8)
  for name in (
    "cross_entropy_bf16",
    "cross_entropy_f32",
    "add_gelu",
    "adam_f32",
  ):
    assert detector.look(name, "", "") == (
      "name",
      contamination.operation(name),
      1,
    )
  assert detector.look("softmax_f16", "", "") is None


def test_renamed_copies_are_found_by_their_words():
  detector = Detector(HELD_OUT, 13, 0.8)
  task = suite.get("adam_f32")
  kernel = task.baseline.replace("  ", "\t") + "// mine\n"
  found = detector.look("my_own", "y = x", kernel)
  assert (found.rule, found.task) == ("kernel", "adam") and found.share > 0.95
  found = detector.look("", contamination.statement(task), "")
  assert (found.rule, found.task) == ("statement", "adam")


def test_training_tasks_statements_are_none_of_evaluations():
  detector = Detector(HELD_OUT, 13, 0.8)
  names = [n for s in suite.SETS for n in suite.names("train", set=s)]
  found = {
    name: detector.look(name, contamination.statement(suite.get(name)), "")
    for name in names
  }
  # A test task of the primer is this operation in another dtype.
  assert {n for n, what in found.items() if what} == {"mul", "mul_bf16"}


def test_what_everybody_writes_counts_for_nothing():
  shared = "int i = blockIdx.x * blockDim.x + threadIdx.x; if (i >= n) return;"
  own = "y[i] = frobnicate(x[i], {0}) + twiddle(x[i + {0}]) * {0} - z[{0}];"
  tasks = [
    Evaluated(f"t{k}", "", (shared + own.format(f"c{k}"),)) for k in range(5)
  ]
  detector = Detector(tasks, 6, 0.5)
  assert detector.look("", "", shared * 3) is None
  assert detector.look("", "", own.format("c3")).task == "t3"


def test_sizes_that_cannot_be_are_refused():
  with pytest.raises(ValueError, match="expected n >= 2 and 0 < share <= 1"):
    Detector([], 13, 0.0)
