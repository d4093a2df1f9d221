"""Sorting, selection and counting."""

import numpy as np

from jaxkern.tasks.draws import integers
from jaxkern.tasks.families import variants
from jaxkern.tasks.task import Task

_LOOP = "for (int c = 0; c < cols; ++c)"


def tasks() -> list[Task]:
  """All of the file."""
  return [*_sorting(), *_searching(), *_counting()]


def _apart(rng, shape, attributes) -> np.ndarray:
  """Values of a row that are distinct in bfloat16: 2^-7 to 2^5, both signs."""
  patterns = 12 << 7  # Twelve exponents; 0x3C00 is 2^-7.
  order = np.tile(np.arange(2 * patterns), (shape[0], 1))
  order = rng.permuted(order, axis=1)[:, : shape[1]]
  bits = (order % patterns + 0x3C00).astype(np.uint32) << 16
  return np.where(order < patterns, 1, -1) * bits.view(np.float32)


def _twins(rng, shape, attributes) -> np.ndarray:
  """Distinct in float32, but each has one that is its equal in tf32."""
  x = _apart(rng, (shape[0], (shape[1] + 1) // 2), attributes)
  x = np.concatenate([x, x * (1 + 2**-14)], axis=1)[:, : shape[1]]
  return rng.permuted(x, axis=1)


def _summed_exactly(rng, shape, attributes) -> np.ndarray:
  """Distinct whole numbers of up to 13 bits, more than tf32 and float16 have.

  Their sums are exact in float32 in any order, and 0.7 of a row's is half-way
  between two whole numbers: no sum meets the threshold.
  """
  step = 8192 // shape[1]
  x = rng.permuted(np.tile(np.arange(shape[1]), (shape[0], 1)), axis=1)
  x = 1 + x * step + rng.integers(0, step, shape)
  rows = np.arange(shape[0])
  x[rows, x.argmax(axis=1)] += (5 - x.sum(axis=1)) % 10
  return x


_SIZES = {"rows": (2, 5, 17, 9, 2048), "cols": (9, 20, 65, 40, 1024)}
_RANK = f"""
const T* p = x + i / cols * cols;
int rank = 0;
{_LOOP} rank += in(p[c]) < in(x[i]);
"""


def _family(name, dtypes, *text, **more):
  """A row's values are distinct, so that there is one right order."""
  more = {
    "sizes": _SIZES,
    "kinds": (),
    "level": 1,
    "draws": {"x": _apart if dtypes == "bf16" else _twins},
    **more,
  }
  return variants(
    "sorting", more.pop("level"), name, dtypes, *text, tags=("order",), **more
  )


def _top_k(dtype):
  """The largest, and where they are."""
  return _family(
    "top_k",
    dtype,
    "x[rows, cols] -> y[rows, k], at:i32[rows, k]",
    "y, at = lax.top_k(x, k)\nat = at.astype(jnp.int32)",
    "rows * cols",
    _RANK.replace("<", ">").replace("c > cols", "c < cols")
    + """
if (rank < k) {
  y[i / cols * k + rank] = x[i];
  at[i / cols * k + rank] = i % cols;
}""",
    sizes={**_SIZES, "k": (8, 8, 10, 8, 64)},
  )


def _sorting() -> list[Task]:
  return [
    *_family(
      "sort_rows",
      "f32",
      "x[rows, cols] -> y[rows, cols]",
      "y = jnp.sort(x, axis=-1)",
      "rows * cols",
      _RANK + "y[i / cols * cols + rank] = x[i];",
    ),
    *_family(
      "argsort_rows",
      "f32",
      "x[rows, cols] -> y:i32[rows, cols]",
      "y = jnp.argsort(x, axis=-1).astype(jnp.int32)",
      "rows * cols",
      _RANK + "y[i / cols * cols + rank] = i % cols;",
    ),
    *_family(
      "sort_integers",
      "i32",
      "x[rows, cols] -> y[rows, cols]",
      "y = jnp.sort(x, axis=-1)",
      "rows * cols",
      f"""
      const int* p = x + i / cols * cols;
      int rank = 0;
      {_LOOP} rank += p[c] < x[i] || (p[c] == x[i] && c < i % cols);
      y[i / cols * cols + rank] = x[i];
      """,
      draws={},
    ),
    *_top_k("f32"),
    *_top_k("bf16"),
    *_family(
      "median_of_rows",
      "f32",
      "x[rows, cols] -> y[rows]",
      "y = jnp.sort(x, axis=-1)[:, cols // 2]",
      "rows",
      f"""
      const float* p = x + i * cols;
      {_LOOP} {{
        int rank = 0;
        for (int e = 0; e < cols; ++e) rank += p[e] < p[c];
        if (rank == cols / 2) y[i] = p[c];
      }}
      """,
      sizes={"rows": (17, 20, 33, 25, 4096), "cols": (9, 20, 33, 40, 256)},
    ),
  ]


def _searching() -> list[Task]:
  return [
    *_family(
      "search_sorted",
      "f32",
      "edges[cols], x[n] -> y:i32[n]",
      "y = jnp.searchsorted(edges, x, side='right').astype(jnp.int32)",
      "n",
      """
      int64_t from = 0, to = cols;
      while (from < to) {
        int64_t middle = (from + to) / 2;
        if (edges[middle] <= x[i]) from = middle + 1; else to = middle;
      }
      y[i] = from;
      """,
      sizes={"cols": (5, 33, 100, 60, 4096), "n": (20, 100, 700, 300, 1 << 22)},
      draws={
        "edges": lambda rng, shape, _: np.sort(rng.standard_normal(shape))
      },
    ),
    *_family(
      "top_p_mask",
      "f32",
      "x[rows, cols], p=0.7 -> y[rows, cols]",
      """
      order = jnp.argsort(-x, axis=-1)
      s = jnp.take_along_axis(x, order, axis=-1)
      before = jnp.cumsum(s, axis=-1) - s
      keep = before < p * jnp.sum(x, axis=-1, keepdims=True)
      keep = jnp.take_along_axis(keep, jnp.argsort(order, axis=-1), axis=-1)
      y = jnp.where(keep, x, 0)
      """,
      "rows * cols",
      f"""
      const float* row = x + i / cols * cols;
      float before = 0.0f, sum = 0.0f;
      {_LOOP} {{
        sum += row[c];
        if (row[c] > x[i]) before += row[c];
      }}
      y[i] = before < p * sum ? x[i] : 0.0f;
      """,
      draws={"x": _summed_exactly},
      tolerance=(1e-6, 1e-6),
      level=2,
    ),
  ]


def _counting() -> list[Task]:
  def family(level, name, dtypes, *text, **more):
    """Of counts."""
    return variants(
      "histogram", level, name, dtypes, *text, tags=("atomics",), **more
    )

  sizes = {"n": (300, 1000, 5000, 2000, 1 << 18), "bins": (16, 20, 33, 24, 256)}
  return [
    *family(
      1,
      "histogram",
      "i32",
      "x[n] -> y[bins]",
      "y = jnp.zeros(bins, jnp.int32).at[x].add(1)",
      "bins",
      "int s = 0;\nfor (int j = 0; j < n; ++j) s += x[j] == i;\ny[i] = s;",
      sizes=sizes,
      draws={"x": integers(0, "bins")},
    ),
    *family(
      2,
      "weighted_histogram",
      "f32",
      "x:i32[n], w[n] -> y[bins]",
      "y = jnp.zeros(bins, w.dtype).at[x].add(w)",
      "bins",
      "float s = 0.0f;\n"
      "for (int j = 0; j < n; ++j) s += x[j] == i ? w[j] : 0.0f;\ny[i] = s;",
      sizes=sizes,
      draws={"x": integers(0, "bins")},
      kinds=(),
      terms="n / bins",
    ),
    *family(
      2,
      "confusion_matrix",
      "i32",
      "x[n], z[n] -> y[bins, bins]",
      "y = jnp.zeros((bins, bins), jnp.int32).at[x, z].add(1)",
      "bins * bins",
      """
      int s = 0;
      for (int j = 0; j < n; ++j) s += x[j] == i / bins && z[j] == i % bins;
      y[i] = s;
      """,
      sizes={"n": (100, 1000, 3000, 2000, 1 << 16), "bins": (4, 7, 10, 8, 32)},
      draws={"x": integers(0, "bins"), "z": integers(0, "bins")},
    ),
  ]
