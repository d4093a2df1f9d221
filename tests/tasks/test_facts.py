"""Counts by hand."""

from jaxkern.tasks import facts, suite


def test_a_product_has_two_operations_per_multiply_add():
  task = suite.get("matmul_bf16")
  size = {"m": 3, "k": 5, "n": 7}
  assert facts.flops(task, size) == 2 * 3 * 5 * 7
  assert facts.traffic(task, size) == 2 * (3 * 5 + 5 * 7 + 3 * 7)
  assert facts.difficulty(task) == 1


def test_loops_are_counted_by_the_task():
  task = suite.get("linear_recurrence_f32")
  assert facts.flops(task, {"batch": 2, "n": 3, "d": 5}) == 60
  lookup = suite.get("embedding_f32")
  # A row read and written; not the whole table.
  size = {"rows": 100, "cols": 4, "n": 2}
  assert facts.traffic(lookup, size) == 64


def test_a_block_is_harder_than_an_operation():
  easy, hard = (
    facts.difficulty(suite.get(name))
    for name in ("embedding_f32", "selective_scan_f32")
  )
  assert easy < hard


def test_large_sizes_have_operations():
  task = suite.get("causal_attention_bf16")
  assert facts.flops(task, task.large[0]) > 4e9


def test_primer_has_no_counts():
  assert facts.flops(suite.get("softmax"), {"rows": 1, "cols": 1}) is None
  assert facts.difficulty(suite.get("softmax")) is None
