"""Kernel writers: every style of every family, and the mistakes."""

import re

import numpy as np
import pytest

from jaxkern.data import kernels, mutations, styles
from jaxkern.data.styles import Style
from jaxkern.tasks import suite
from jaxkern.tasks.task import signature

every_training_task = pytest.mark.parametrize("name", suite.names("train"))


def drawn(name, count, seed=0):
  recipe = suite.recipe(name)
  rng = np.random.default_rng(seed)
  for _ in range(count):
    yield kernels.write(recipe, styles.draw(recipe.family, rng))


def test_add_relu_by_hand():
  style = Style(
    algorithm="thread",
    block=256,
    index="int",
    name="run",
    restrict=False,
    helper=False,
    guard="if",
    named_grid=True,
    comment=True,
  )
  assert kernels.write(suite.recipe("add_relu"), style) == (
    "// One thread per output.\n"
    "__global__ void run(const float* x, const float* z, float* y, int n) {\n"
    "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "  if (i < n) {\n"
    "    float v = x[i] + z[i];\n"
    "    y[i] = fmaxf(v, 0.0f);\n"
    "  }\n"
    "}\n"
    "\n"
    'extern "C" int launch(const float* x, const float* z, float* y, '
    "int64_t n, cudaStream_t stream) {\n"
    "  int block = 256;\n"
    "  int grid = (n + block - 1) / block;\n"
    "  run<<<grid, block, 0, stream>>>(x, z, y, n);\n"
    "  return cudaGetLastError();\n"
    "}\n"
  )


@every_training_task
def test_task_is_written_in_many_distinct_compact_styles(name):
  sources = set(drawn(name, 100))
  assert len(sources) >= 24
  lengths = sorted(map(len, sources))
  assert lengths[len(lengths) // 2] <= 1000
  assert lengths[-1] <= 1500


@every_training_task
def test_source_is_self_contained_and_ends_with_launch(name):
  for source in drawn(name, 20):
    tail = source[source.index('extern "C"') :]
    assert tail.startswith(signature(suite.get(name)) + " {\n")
    assert tail.endswith("  return cudaGetLastError();\n}\n")
    assert tail.count("\n}\n") == 1
    assert source.count("{") == source.count("}")
    assert not re.search(r"[{}][a-z]*[{}]|\{[vicr]\}", source)


@every_training_task
def test_every_algorithm_of_the_family_occurs(name):
  recipe = suite.recipe(name)
  rng = np.random.default_rng(0)
  seen = {styles.draw(recipe.family, rng).algorithm for _ in range(60)}
  assert seen == set(styles.ALGORITHMS[recipe.family])


@pytest.mark.parametrize("mutation", mutations.MUTATIONS)
def test_mutation_applies_somewhere_and_changes_the_source(mutation):
  applied = 0
  for name in suite.names("train"):
    recipe = suite.recipe(name)
    for k, source in enumerate(drawn(name, 3)):
      rng = np.random.default_rng(k)
      broken = mutation(source, recipe, rng)
      applied += broken is not None and broken != source
  assert applied >= 3


def test_mutations_by_hand():
  rng = np.random.default_rng(0)
  recipe = suite.recipe("bias_relu")
  source = "if (i < rows * cols) y[i] = f(x[i] + b[i % cols]);\n"
  assert mutations.off_by_one(source, recipe, rng) == source.replace(
    "i < rows * cols)", "i < rows * cols - 1)"
  )
  assert mutations.wrong_operator(source, recipe, rng) == source.replace(
    " + b", " * b"
  )
  assert mutations.wrong_index(source, recipe, rng) == source.replace(
    "i % cols", "i / cols"
  )
  call = "run<<<(n + 63) / 64, 64, 0, stream>>>(x, b, y, n);\n"
  assert mutations.swapped_call(call, recipe, rng) == call.replace(
    "x, b, y", "y, b, x"
  )
  assert mutations.rounded_down_grid(call, recipe, rng) == call.replace(
    "(n + 63) / 64", "n / 64"
  )
  assert mutations.block_too_large(call, recipe, rng) == call.replace(
    " 64, 0", " 2048, 0"
  )
  assert mutations.missing_barrier(call, recipe, rng) is None
