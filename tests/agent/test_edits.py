import random

import pytest

from jaxkern.agent.edits import coarsen, fuse, loops, moves, small, stage, warp
from jaxkern.agent.edits.layout import tidied
from jaxkern.agent.edits.syntax import parse
from jaxkern.evaluator import Evaluator, Request
from jaxkern.tasks import suite
from jaxkern.tasks.define import define
from tests.agent.edits_cases import kernel, squeezed

ROW_SUM = kernel(
  """
  float s = 0.0f;
  for (int c = 0; c < n; ++c) s += x[i * n + c];
  y[i] = s;""",
  "m",
)


def has(source, *parts):
  return all(squeezed(part) in squeezed(source) for part in parts)


def test_rows_compute_what_a_row_shares_once():
  made = coarsen.rows(
    kernel("""
  float a = w[i / n];
  float b = a * x[i % n];
  y[i] = b;"""),
    4,
  )
  assert has(
    made,
    "float a = w[lane_row];",
    "float b[4];",
    "b[lane] = a * x[(lane_first + lane)];",
    "y[(lane_row * n + lane_first + lane)] = b[lane];",
    "((m) * ((n + 3) / 4)) + 128 - 1) / 128, 128",
  )


def test_a_loop_that_all_lanes_share_stays_outside_of_them():
  made = coarsen.rows(
    kernel("""
  float s = 0.0f;
  for (int c = 0; c < m; ++c) s += w[c] * x[i % n];
  y[i] = s;"""),
    8,
  )
  assert has(
    made, "for (int c = 0; c < m; ++c) { for (int lane = 0; lane < 8; ++lane)"
  )


def test_lanes_that_part_go_one_by_one():
  made = coarsen.lanes(
    kernel("""
  float s = 0.0f;
  for (int c = 0; c < i; ++c) s += x[c];
  if (i % 2) s = -s;
  y[i] = s;"""),
    4,
  )
  assert has(
    made,
    "for (int c = 0; c < (lane_first + lane); ++c) s[lane] += x[c];",
    "if ((lane_first + lane) % 2) s[lane] = -s[lane];",
  )


def test_what_is_assigned_where_lanes_part_is_each_lanes_own():
  made = coarsen.lanes(
    kernel("""
  float s = 0.0f;
  if (x[i] > 0) s = 1.0f;
  y[i] = s;"""),
    4,
  )
  assert has(made, "float s[4];", "s[lane] = 1.0f")


@pytest.mark.parametrize(
  "body",
  [
    "__shared__ float t[8]; t[0] = 1; __syncthreads(); y[i] = t[0];",
    "while (i < 3) { y[i] = 1; }",
    "auto v = x[i]; y[i] = v;",
    "if (x[i] > 0) return; y[i] = 1;",
    "i += 1; y[i] = 1;",
    "float lane = x[i]; y[i] = lane;",
  ],
)
def test_what_is_not_understood_is_left_alone(body):
  assert coarsen.lanes(kernel(f"  {body}\n  y[i] = 2;"), 4) is None


def test_texts_with_syntax_errors_are_left_alone():
  for step in moves.steps():
    assert moves.apply("__global__ void kernel(int a { return; }", step) is None


def test_split_sums_side_by_side():
  made = loops.split(ROW_SUM, 8)
  assert has(
    made,
    "float part_s[8];",
    "part_s[turn] = 0;",
    "for (; c + 7 < n; c += 8)",
    "part_s[turn] += x[i * n + (c + turn)];",
    "s += part_s[turn];",
    "for (; c < n; ++c) { s += x[i * n + c]; }",
  )


@pytest.mark.parametrize(
  "step",
  [
    "s = s * 2 + x[c];",  # No sum.
    "s += s;",
    "y[c] = s += x[c];",  # Every step's sum is wanted.
    "y[c] = y[c - 1];",
    "y[0] = x[c];",
    "s += x[c]; y[c] = s;",
    "atomicAdd(&y[c], 1.0f);",
    "if (x[c] > 1) break;",
  ],
)
def test_loops_with_an_order_are_not_split(step):
  body = f"  float s = 0; for (int c = 0; c < n; ++c) {{ {step} }} y[i] = s;"
  assert loops.split(kernel(body + "\n  y[i] = 2;", "m"), 4) is None


def test_a_warp_takes_turns_and_shuffles():
  made = warp.warp(ROW_SUM)
  assert has(
    made,
    "c = 0 + warp_lane; c < n; c += 32",
    "__shfl_xor_sync(0xffffffffu, own_s, step)",
    "if (warp_lane == 0) y[i] = s;",
    "<<<((m) + 3) / 4, 128",
  )


def test_reuse_keeps_what_was_computed():
  made = loops.reuse(
    kernel(
      """
  float s = 0.0f;
  for (int c = 0; c < n; ++c) s += expf(x[i * n + c]);
  for (int c = 0; c < n; ++c) y[i * n + c] = expf(x[i * n + c]) / s;""",
      "m",
    )
  )
  assert has(
    made,
    "{ y[i * n + c] = expf(x[i * n + c]); s += y[i * n + c]; }",
    "y[i * n + c] = y[i * n + c] / s;",
  )


def test_division_by_what_stays_becomes_one():
  made = loops.reciprocal(
    kernel(
      """
  float s = x[i];
  for (int c = 0; c < n; ++c) y[i * n + c] = w[c] / s + c / 2;""",
      "m",
    )
  )
  assert has(made, "inverse_s = 1.0f / s;", "w[c] * inverse_s + c / 2;")


def test_a_product_is_staged_in_tiles():
  made = stage.stage(suite.get("linear_gelu_f32").baseline)
  assert has(
    made,
    "__shared__ float staged_a[16][16], staged_b[16][16];",
    "staged_a[tile_y][tile_x] = in(x[tile_row * k + tile_a]);",
    "staged_b[tile_y][tile_x] = in(w[tile_b * n + tile_col]);",
    "s += staged_a[tile_y][tile_k] * staged_b[tile_k][tile_x];",
    "if (!tile_inside) return;",
  )
  assert stage.stage(suite.get("softmax_f16").baseline) is None
  # A batch's matrix depends on more than row or column.
  assert stage.stage(suite.get("batched_matmul_f32").baseline) is None


TWO = """
__global__ void twice(const float* a, float* b, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i >= n) return;
  float v = a[i];
  b[i] = 2 * v;
}
__global__ void more(const float* x, float* y, int64_t m) {
  int64_t k = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (k >= m) return;
  float v = x[%s];
  y[k] = v > 0 ? v : 0;
}
extern "C" int launch(const float* x, float* y, int64_t n, cudaStream_t s) {
  twice<<<(n + 63) / 64, 64, 0, s>>>(x, y, n);
  more<<<(n + 63) / 64, 64, 0, s>>>(y, y, n);
  return cudaGetLastError();
}
"""


def test_two_kernels_in_a_row_become_one():
  made = fuse.fuse(TWO % "k")
  assert made.count("<<<") == made.count("__global__") == 1
  assert has(made, "then_y[i] = then_v > 0 ? then_v : 0;", "(x, y, n, y, y, n)")
  task = define(
    "twice_relu",
    "x[n] -> y[n]",
    "y = jax.nn.relu(2 * x)",
    sizes={"n": (1, 70, 200, 64, 64)},
  )
  with Evaluator("cpu") as evaluator:
    [result] = evaluator.evaluate([Request(task, made)])
  assert result.status == "ok", result.log
  # A neighbour's element is another thread's.
  assert fuse.fuse(TWO % "m - 1 - k") is None


def test_small_edits():
  assert has(
    small.restrict(ROW_SUM), "const float* __restrict__ x, const float"
  )
  assert small.restrict(ROW_SUM.replace("(x, w, y,", "(x, x, y,")) is None
  assert has(small.int32(ROW_SUM), "int m, int n) {", "(int)blockDim.x")
  assert has(small.block(ROW_SUM, 64), "(m + 63) / 64, 64, 0")
  assert small.block(ROW_SUM, 128) is None
  source = ROW_SUM.replace("s += x[i * n + c]", "s = fmaxf(s, expf(x[c]))")
  assert has(
    small.compare(source), "s = larger(s, expf(x[c]))", "float larger("
  )
  assert has(small.exponent(source), "near_exp(x[c])", "float near_exp(float")
  assert has(small.intrinsic(source), "__expf(x[c])")
  # The text of comments and strings is no code.
  assert small.exponent("// expf(x)\nint f() { return 0; }") is None


def test_layout_follows_braces_and_nothing_else_changes():
  source = "#if 1\nvoid f() {\nif (a)\n b;\n{\nc =\nd; }\n}\n#define x \\\n y\n"
  made = tidied(source)
  assert made.split("\n")[1:8] == [
    "void f() {",
    "  if (a)",
    "      b;",
    "  {",
    "    c =",
    "        d; }",
    "}",
  ]
  assert made.endswith("#define x \\\n y\n")
  assert squeezed(made) == squeezed(source)


def test_moves_have_names_numbers_and_chains():
  assert moves.parts("rows:8") == ("rows", 8)
  for wrong in ("rows", "restrict:2", "jump"):
    with pytest.raises(ValueError, match="move: expected one of"):
      moves.parts(wrong)
  made, done = moves.applied(ROW_SUM, ["rows:8", "restrict", "split:4"])
  assert done == ("restrict", "split:4")
  assert moves.apply_all(ROW_SUM, done) == made
  assert moves.apply_all(ROW_SUM, ["rows:8"]) is None


def test_every_move_does_something_in_the_suite_and_leaves_syntax():
  names = suite.names(set="suite")[::8] + ["softcap_softmax_f32"]
  kernels = [suite.get(name).baseline for name in names]
  for step in moves.steps():
    if step == "fuse":
      continue  # The suite's have one kernel each.
    made = [m for k in kernels if (m := moves.apply(k, step))]
    assert made, step
    assert all(parse(m) is not None for m in made), step


CHAINS = [
  ("restrict", "exponent", "reuse", "reciprocal", "rows:8", "split:8"),
  ("compare", "lanes:4", "block:64", "unroll:4"),
  ("int32", "compare", "intrinsic", "lanes:2", "split:4", "block:32"),
  ("warp",),
  ("stage",),
]


@pytest.mark.parametrize("chain", CHAINS, ids="-".join)
def test_edited_kernels_are_right(chain):
  """Every case of tasks drawn by lot, ordinary and unusual inputs."""
  rng = random.Random(str(chain))
  tasks = rng.sample(suite.select("suite"), 60)
  requests = []
  for task in tasks:
    source, done = moves.applied(task.baseline, chain)
    if len(done) >= min(3, len(chain)):
      requests.append(Request(task, source))
  requests = requests[:6]
  with Evaluator("cpu") as evaluator:
    results = evaluator.evaluate(requests)
  assert len(results) >= 3
  wrong = [
    (r.task.name, got.status, got.log)
    for r, got in zip(requests, results, strict=True)
    if got.status != "ok"
  ]
  assert not wrong
