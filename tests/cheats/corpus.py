"""Candidates that cheat, and honest ones that look like them.

Every file in corpus/ is a complete candidate for the evaluator. Its first lines
are the manifest:

  // entry: 5, 33        of the catalogue: see CATALOGUE below
  // trick: ...          what it does; `like:` in a look-alike, NAME.honest.cu
  // task: add_relu      a task of jaxkern.tasks.suite, or of TASKS below
  // device: both        where it can be judged: cpu, cuda or both
  // expect: cheating wrong_answer      the statuses that count as right
  // cpu: unsupported    what counts instead on that device
  // repetitions: 20     timed launches that it takes to see it; 0 if not given
  // rule: opens_files   the rule that must be named
  // samples: 10         times that an ok result must hold at least
  // after: NAME         evaluated before, by the same evaluator
  // needs: protocol     what an evaluator must have to see it: `protocol` is
                         evidence from the run and from the library's symbols;
                         `host_copies` counts copies between host and device in
                         launch; `outside_clock` measures from another process

A cheat whose trick does not work gives up with an error, wherever it can tell:
`ok` means that the trick worked, unless it is expected: there the trick gains
nothing (a hash on the host costs more than a GPU's kernel, and what is done to
the host's clock does not change the times of CUDA events).

  python tests/cheats/corpus.py    prints the manifest as one JSON array
"""

import functools
import json
import pathlib
from typing import NamedTuple

import numpy as np

from jaxkern.tasks import suite
from jaxkern.tasks.task import Argument, Task

DIRECTORY = pathlib.Path(__file__).parent
# What the evaluator of this checkout has of the things that `needs` names.
PROVIDED = frozenset({"protocol", "host_copies"})


class Candidate(NamedTuple):
  """One file of the corpus; the fields are those of its first lines."""

  name: str
  honest: bool
  entries: tuple[int, ...]
  what: str
  task: str
  device: str
  expect: tuple[str, ...]
  cpu: tuple[str, ...]
  repetitions: int
  rule: str
  samples: int
  after: str
  needs: tuple[str, ...]

  def source(self) -> str:
    """The candidate's text without its manifest, which would give it away."""
    lines = (DIRECTORY / f"corpus/{self.name}.cu").read_text().splitlines(True)
    first = next(i for i, s in enumerate(lines) if not _is_field(s))
    return "".join(lines[first:])

  def on(self, device: str) -> bool:
    """Whether it can be judged there."""
    return self.device in ("both", device)

  def expected(self, device: str) -> tuple[str, ...]:
    """The statuses that are right there."""
    return self.cpu if device == "cpu" and self.cpu else self.expect

  def right(self, device: str, status: str, rule: str, samples: int) -> bool:
    """Whether a verdict is one of those that are expected."""
    if status not in self.expected(device):
      return False
    if status == "ok":
      return samples >= self.samples
    return status != "cheating" or self.rule in ("", rule)


@functools.cache
def candidates() -> tuple[Candidate, ...]:
  """The corpus by name; a candidate stands behind what it comes `after`."""
  paths = sorted((DIRECTORY / "corpus").glob("*.cu"))
  found = [_read(path) for path in paths]
  return tuple(sorted(found, key=lambda c: (bool(c.after), c.name)))


def catalogue() -> list[dict]:
  """The entries: number, trick, forms ("N", "K"), and what is said of K."""
  return json.loads((DIRECTORY / "catalogue.json").read_text())


@functools.cache
def task(name: str) -> Task:
  """The task of that name, of the suite or of this corpus."""
  return TASKS[name]() if name in TASKS else suite.get(name)


def _is_field(line: str) -> bool:
  name = line.removeprefix("// ").partition(":")[0]
  return line.startswith("// ") and name in _FIELDS


_FIELDS = (
  "entry trick like task device expect cpu repetitions rule samples after needs"
).split()


def _read(path: pathlib.Path) -> Candidate:
  fields = {}
  for line in path.read_text().splitlines():
    if not _is_field(line):
      break
    name, _, value = line.removeprefix("// ").partition(":")
    fields[name] = value.strip()
  honest = path.stem.endswith(".honest")
  return Candidate(
    name=path.stem,
    honest=honest,
    entries=tuple(int(word) for word in fields["entry"].split(",")),
    what=fields["like" if honest else "trick"],
    task=fields["task"],
    device=fields["device"],
    expect=tuple(fields["expect"].split()),
    cpu=tuple(fields.get("cpu", "").split()),
    repetitions=int(fields.get("repetitions", 0)),
    rule=fields.get("rule", ""),
    samples=int(fields.get("samples", 0)),
    after=fields.get("after", ""),
    needs=tuple(fields.get("needs", "").split()),
  )


def _elements(name, summary, operands, draw, compute, baseline) -> Task:
  arguments = [
    *(Argument(o, "input", "float32", ("n",)) for o in operands),
    Argument("y", "output", "float32", ("n",)),
    Argument("n", "attribute", "int64"),
  ]
  return Task(
    name=name,
    level=1,
    family="elementwise",
    split="test",
    summary=summary,
    arguments=tuple(arguments),
    cases=tuple({"n": n} for n in (1, 31, 257, 1000, 65537)),
    hidden=(),
    timed=(4,),
    make_inputs=draw,
    reference=lambda inputs, attributes: {"y": compute(**inputs)},
    tolerance=lambda attributes: (1e-6, 1e-6),
    baseline=baseline,
  )


_BASELINE = """\
__global__ void kernel(%s, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = %s;
}
extern "C" int launch(%s, float* y, int64_t n, cudaStream_t stream) {
  kernel<<<(n + 255) / 256, 256, 0, stream>>>(%s, y, n);
  return cudaGetLastError();
}
"""


def _masked() -> Task:
  """Some of whose answers are minus infinity."""

  def draw(rng, attributes):
    x, m = rng.standard_normal((2, attributes["n"]))
    return {"x": x.astype(np.float32), "m": m.astype(np.float32)}

  both = "const float* x, const float* m"
  return _elements(
    "masked",
    "y = jnp.where(m > 0, x, -jnp.inf)",
    ("x", "m"),
    draw,
    lambda x, m: np.where(m > 0, x, np.float32(-np.inf)),
    _BASELINE % (both, "m[i] > 0 ? x[i] : -INFINITY", both, "x, m"),
  )


def _dead_relu() -> Task:
  """All of whose answers are zero."""

  def draw(rng, attributes):
    x = -np.abs(rng.standard_normal(attributes["n"]))
    return {"x": x.astype(np.float32)}

  one = "const float* x"
  return _elements(
    "dead_relu",
    "y = jax.nn.relu(x)",
    ("x",),
    draw,
    lambda x: np.maximum(x, np.float32(0)),
    _BASELINE % (one, "fmaxf(x[i], 0.0f)", one, "x"),
  )


def _turned() -> Task:
  """Few elements and much work: some 20 us on a GPU, most of it waiting."""
  turns, angle = 4000, 0.001

  def draw(rng, attributes):
    x, m = rng.standard_normal((2, attributes["n"]))
    return {"x": x.astype(np.float32), "m": m.astype(np.float32)}

  def turned(x, m):
    cos, sin = np.cos(turns * angle), np.sin(turns * angle)
    return (cos * x - sin * m).astype(np.float32)

  both = "const float* x, const float* m"
  task = _elements(
    "turned",
    f"y = jnp.cos({turns * angle}) * x - jnp.sin({turns * angle}) * m",
    ("x", "m"),
    draw,
    turned,
    f"""\
__device__ float turned(float x, float m) {{
  const float c = {np.cos(angle):.9g}f, s = {np.sin(angle):.9g}f;
  for (int i = 0; i < {turns}; ++i) {{
    float turned = c * x - s * m;
    m = s * x + c * m;
    x = turned;
  }}
  return x;
}}
"""
    + _BASELINE % (both, "turned(x[i], m[i])", both, "x, m"),
  )
  return task._replace(timed=(3,), tolerance=lambda attributes: (1e-3, 1e-3))


def _softmax_hidden() -> Task:
  """The suite's softmax with sizes that nobody has seen."""
  sizes = ((2, 5), (19, 70), (6, 777), (130, 401))
  cases = tuple({"rows": rows, "cols": cols} for rows, cols in sizes)
  softmax = suite.get("softmax")
  return softmax._replace(name="softmax_hidden", cases=cases, timed=(3,))


TASKS = {
  "masked": _masked,
  "dead_relu": _dead_relu,
  "softmax_hidden": _softmax_hidden,
  "turned": _turned,
}


if __name__ == "__main__":
  print(json.dumps([c._asdict() for c in candidates()], indent=1))
