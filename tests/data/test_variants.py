"""Optimised kernels: distinct, right on the cpu device, and CUDA to nvcc."""

import collections
import re
import subprocess

import numpy as np
import pytest

from jaxkern.data import cuda_text, variants
from jaxkern.data.variants import attention, products, row_plans, rows
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import bundle, suite
from tests.data.test_cuda_compiles import nvcc

NAMES = variants.names()
# Of each operation of the suite one dtype, of the primer some of each family.
OPERATIONS = {
  re.sub(r"_(f32|f16|bf16|i32|i8|u8)$", "", name): name
  for name in reversed(NAMES)
  if name not in suite.names()
}
PRIMER = [name for name in NAMES if name in suite.names()][::7]


def one(name, seed, way=0):
  ways = variants.writers(suite.get(name))
  return ways[way % len(ways)](np.random.default_rng(seed))


def test_every_training_task_has_a_writer_and_no_other():
  train = [n for s in suite.SETS for n in suite.names("train", set=s)]
  assert train == NAMES and len(NAMES) > 300
  better = [n for n in NAMES if not variants.only_divided_anew(suite.get(n))]
  assert len(better) > 190


def test_proposals_are_deterministic_distinct_and_dealt_out():
  made = variants.propose(3, 400)
  assert made == variants.propose(3, 400)
  assert made[:150] == variants.propose(3, 150)
  assert made != variants.propose(4, 400)
  assert len({(p.task, p.source) for p in made}) == 400
  counts = collections.Counter(p.task for p in made)
  assert len(counts) == len(NAMES) and max(counts.values()) == 2
  assert all(p.attempt is None for p in made)


def test_families_can_be_chosen():
  made = variants.propose(0, 30, ["attention"])
  assert {suite.get(p.task).family for p in made} == {"attention"}
  with pytest.raises(ValueError, match="families: expected some with writers"):
    variants.propose(0, 3, ["cooking"])


def test_styles_are_many():
  """What the issue names is all there, and texts of a task differ widely."""
  texts = [p.source for p in variants.propose(0, 2500)]
  for word, least in {
    "reinterpret_cast<const Pack<": 300,  # vectors
    "__shared__": 800,
    "__shfl_": 500,
    "gridDim.x": 200,  # blocks that stay
    "#pragma unroll": 800,
    "__launch_bounds__": 400,
    "__restrict__": 600,
    "template <": 500,
    "cudaMalloc": 20,  # a workspace
  }.items():
    assert sum(word in text for text in texts) >= least, word
  blocked = sum(
    re.search(r"s0\[[48]\]\[[48]\]", text) is not None for text in texts
  )
  assert blocked >= 100
  lengths = sorted(len(cuda_text.words(text)) for text in texts)
  assert lengths[len(lengths) // 2] < 900


@pytest.fixture(scope="module")
def evaluator(tmp_path_factory):
  cache = tmp_path_factory.mktemp("cache")
  with Evaluator("cpu", cache_dir=cache, seed=1) as made:
    yield made


def small(name):
  """The two awkward sizes and a hidden one, without kinds of inputs."""
  task = suite.get(name)
  return task._replace(
    cases=(task.hidden[0], *task.cases[1:3]), timed=(), kinds=()
  )


@pytest.mark.parametrize("names", [[*OPERATIONS.values()], PRIMER])
def test_variants_are_right(evaluator, names, monkeypatch):
  monkeypatch.setattr(bundle, "VARIANTS_CHECKED", 1)
  sources = [one(name, seed) for seed, name in enumerate(names)]
  results = evaluator.evaluate(
    Request(small(n), s) for n, s in zip(names, sources, strict=True)
  )
  wrong = [
    (name, result.status, result.log, source)
    for name, result, source in zip(names, results, sources, strict=True)
    if result.status != "ok"
  ]
  assert not wrong, wrong[0]


SHAPES = [
  rows.Shape(32, 128, 4, "registers", True, "down", True),
  rows.Shape(8, 128, 1, "nothing", True, "xor", False),
  rows.Shape(256, 256, 4, "shared", False, "tree", True),
  rows.Shape(512, 512, 4, "registers", False, "xor", False),
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_row_in_every_way(evaluator, shape):
  """A softmax whose rows are longer than what is kept of them, and shorter."""
  task = suite.get("softmax")
  plan = row_plans.of_recipe(suite.recipe("softmax"))
  style = variants.parts.look(np.random.default_rng(0), "row")
  source = rows.write_as(task, plan, shape, style)
  sizes = [{"rows": 5, "cols": c} for c in (1, 31, 516, 9001)]
  task = task._replace(cases=tuple(sizes), timed=(), kinds=())
  (result,) = evaluator.evaluate([Request(task, source)])
  assert result.status == "ok", (result.log, source)


@pytest.mark.parametrize(
  "shape",
  [
    products.Shape(64, 64, 8, 16, 1, True, True, True, True),
    products.Shape(128, 128, 8, 8, 8, False, False, False, False),
    products.Shape(16, 32, 32, 1, 1, False, True, True, True),
  ],
)
def test_a_product_in_every_way(evaluator, shape):
  task = suite.get("matmul_bias_gelu")
  recipe = suite.recipe("matmul_bias_gelu")
  plan = variants.product_plans.of_recipe(recipe, task)
  style = variants.parts.look(np.random.default_rng(1), "product")
  source = products.write_as(task, plan, shape, style)
  sizes = tuple(
    {"m": m, "k": k, "n": n} for m, k, n in ((1, 1, 1), (130, 35, 67))
  )
  task = task._replace(cases=sizes, timed=(), kinds=())
  (result,) = evaluator.evaluate([Request(task, source)])
  assert result.status == "ok", (result.log, source)


def test_attention_knows_every_kind_that_trains():
  kinds = {n.rpartition("_")[0] for n in NAMES if n.endswith("attention_f32")}
  known = {k for k in kinds if attention.of_suite(k)}
  assert kinds and known == kinds


@pytest.mark.parametrize("part", range(3))
def test_nvcc_compiles(part, tmp_path):
  if nvcc() is None:
    pytest.skip("no nvcc: install jaxkern-cuda[test]")
  sources = [p.source for p in variants.propose(1, 120)][part::3]
  unit = tmp_path / "all.cu"
  texts = [_apart(k, text) for k, text in enumerate(sources)]
  unit.write_text("#include <cstdint>\n" + "".join(texts))
  command = [nvcc(), "-cubin", "-arch=sm_90", "-Werror", "all-warnings"]
  command += ["-o", str(tmp_path / "all.cubin"), str(unit)]
  done = subprocess.run(command, capture_output=True, text=True)
  assert done.returncode == 0, done.stderr[:3000]


def _apart(k, text):
  """A candidate in a namespace of its own."""
  lines = text.splitlines(keepends=True)
  heads = [line for line in lines if line.startswith("#include")]
  rest = [line for line in lines if not line.startswith("#include")]
  body = "".join(rest).replace('extern "C" int launch(', "int launch(")
  return "".join(heads) + f"namespace n{k} {{\n{body}}}\n"
