"""Rows reduced and mapped: a group of lanes, a warp or a block for each row.

A Plan says what is computed, in templates of {v} (the row's element), {i} (its
flat index), {c} (its column) and {r} (its row); arrays in them are read as they
stand, x[{i}] and g[{c}] in vectors where the width allows. The rest is how:
lanes per row, vectors, what is kept of a row between two passes, how lanes
reduce, whether blocks stay for several rows.
"""

import re
from typing import NamedTuple

import numpy as np

from jaxkern.data.variants import lanes, parts
from jaxkern.data.variants.parts import Look, pick
from jaxkern.tasks.recipe import Pass
from jaxkern.tasks.task import C_TYPES, Task

_STREAM = re.compile(r"(\w+)\[\{([ic])\}\]")
_PLAIN = re.compile(r"(\w+)\[([^][]*\{[^][]*)\]")


class Plan(NamedTuple):
  """What is done with each row.

  Attributes:
    value: of {v}; '' if no template uses it.
    passes: reductions in order, as in a Recipe.
    each: template of an element of an output, by the output's name.
    once: the same for outputs with one element per row.
    rows, cols: how many there are.
    number: the C++ type of accumulators.
  """

  value: str
  passes: tuple[Pass, ...]
  each: dict[str, str] = {}  # noqa: RUF012
  once: dict[str, str] = {}  # noqa: RUF012
  rows: str = "rows"
  cols: str = "cols"
  number: str = "float"


class Shape(NamedTuple):
  """How a row's work is divided.

  Attributes:
    lanes: threads per row; more than 32 are a block.
    threads: per block.
    vector: elements per load, where cols allow.
    keep: of a row between passes: 'nothing', 'registers' or 'shared'.
    online: maximum and sum of exponentials in one pass.
    reduce: among lanes: 'xor', 'down', or, of a block, 'tree'.
    stay: blocks take row after row.
  """

  lanes: int
  threads: int
  vector: int
  keep: str
  online: bool
  reduce: str
  stay: bool


def draw(rng: np.random.Generator, task: Task, plan: Plan) -> Shape:
  """A random division that the plan allows."""
  wide = pick(rng, (8, 32, 32, 32, 128, 256, 256, 512))
  several = len(plan.passes) + bool(plan.each) > 1
  keep = pick(rng, ("nothing", "registers", "shared")) if several else "nothing"
  if not plan.value or (keep == "shared" and wide <= 32):
    keep = "nothing"
  widest = 16 // max(parts.BYTES[d] for d in parts.dtypes(task).values())
  return Shape(
    lanes=wide,
    threads=wide if wide > 32 else pick(rng, (128, 256)),
    vector=pick(rng, (1, widest, widest)),
    keep=keep,
    online=_can_be_online(plan) and rng.random() < 0.5,
    reduce=pick(rng, ("xor", "down", "tree") if wide > 32 else ("xor", "down")),
    stay=rng.random() < 0.3,
  )


def write(task: Task, plan: Plan, rng: np.random.Generator) -> str:
  """A kernel of a plan in a random way."""
  shape = draw(rng, task, plan)
  style = parts.look(rng, pick(rng, ("row", task.family)))
  return write_as(task, plan, shape, style)


def write_as(task: Task, plan: Plan, shape: Shape, style: Look) -> str:
  """A kernel of a plan in that way. Pure."""
  writer = _Writer(task, plan, shape, style)
  return writer.unit()


def _can_be_online(plan: Plan) -> bool:
  steps = [(p.combine, p.element) for p in plan.passes[:2]]
  return steps == [("max", "{v}"), ("sum", "expf({v} - m)")]


class _Writer:
  """The text of one kernel."""

  def __init__(self, task: Task, plan: Plan, shape: Shape, style: Look):
    self.task, self.plan, self.shape, self.style = task, plan, shape, style
    self.types = parts.dtypes(task)

  def unit(self) -> str:
    """Helpers, kernels, launch."""
    plan, shape, style = self.plan, self.shape, self.style
    combines = dict.fromkeys(p.combine for p in plan.passes)
    device = self._pack() + "".join(
      lanes.function(c, plan.number, shape.lanes, shape.reduce)
      for c in combines
    )
    held = shape.keep == "registers"
    device += parts.kernel(
      self.task, style, self._body(held), shape.threads, self._template(held)
    )
    launch = [f"int64_t count = {plan.rows};", *self._grid()]
    if held:
      device += "\n" + parts.kernel(
        self.task,
        style,
        self._body(False),
        shape.threads,
        self._template(False),
        "_any",
      )
      launch += self._held_launches()
    elif shape.keep == "shared":
      launch += [
        f"size_t bytes = {plan.cols} <= 8192 ? {plan.cols} * 4 : 0;",
        *self._launch("", "bytes"),
      ]
    else:
      launch += self._launch("", "0")
    return parts.unit(self.task, style, device, launch, self._note())

  def _note(self) -> str:
    shape = self.shape
    who = {8: "Eight lanes", 32: "A warp"}.get(shape.lanes, "A block")
    how = f", {shape.vector} elements per load" if shape.vector > 1 else ""
    kept = f", the row kept in {shape.keep}" if shape.keep != "nothing" else ""
    return f"{who} per row{how}{kept}."

  def _pack(self) -> str:
    if self.shape.vector == 1:
      return ""
    return (
      "template <typename T, int V>\nstruct alignas(sizeof(T) * V) Pack {\n"
      "  T v[V];\n};\n\n"
    )

  def _template(self, held: bool) -> str:
    names = ["int V"] if self.shape.vector > 1 else []
    return ", ".join([*names, *(["int ITEMS"] if held else [])])

  def _grid(self) -> list[str]:
    shape, style = self.shape, self.style
    rows = shape.threads // shape.lanes
    blocks = parts.quotient(style, "count", rows) if rows > 1 else "count"
    lines = [f"int64_t blocks = {blocks};"]
    if shape.stay:
      lines.append("if (blocks > 1056) blocks = 1056;")
    return lines

  def _launch(self, suffix: str, shared: str, items: str = "") -> list[str]:
    """With the widest vectors that the row's length allows."""
    name, width = self.style.name + suffix, self.shape.vector

    def call(vector: str, items: str) -> str:
      """One launch."""
      values = ", ".join(filter(None, (vector if width > 1 else "", items)))
      name_ = f"{name}<{values}>" if values else name
      return (
        f"{name_}<<<blocks, {self.shape.threads}, {shared}, stream>>>"
        f"({parts.arguments(self.task)});"
      )

    if width == 1:
      return [call("", items)]
    fewer = str(max(1, int(items) // width)) if items else ""
    return [
      f"if ({self.plan.cols} % {width} == 0) {{",
      call(str(width), fewer),
      "} else {",
      call("1", items),
      "}",
    ]

  def _held_launches(self) -> list[str]:
    """As few registers as the row's length takes; none beyond 16 a lane."""
    shape, lines = self.shape, []
    for items in (4, 16):
      most = shape.lanes * items
      word = "} else if" if lines else "if"
      lines.append(f"{word} ({self.plan.cols} <= {most}) {{")
      lines += self._launch("", "0", str(items))
    return [*lines, "} else {", *self._launch("_any", "0"), "}"]

  # The kernel's body.

  def _body(self, held: bool) -> list[str]:
    plan, shape, index = self.plan, self.shape, self.style.index
    lines = []
    if shape.lanes > 32:
      length = shape.threads if shape.reduce == "tree" else 32
      lines.append(f"__shared__ {plan.number} part[{length}];")
    if shape.keep == "shared":
      lines.append("extern __shared__ float cache[];")
      lines.append(f"const bool keep = {plan.cols} <= 8192;")
    rows = shape.threads // shape.lanes
    lane = f"threadIdx.x % {shape.lanes}" if rows > 1 else "threadIdx.x"
    lines.append(f"const int lane = {lane};")
    first = (
      "blockIdx.x"
      if rows == 1
      else (f"blockIdx.x * {rows} + threadIdx.x / {shape.lanes}")
    )
    if shape.stay:
      step = "gridDim.x" if rows == 1 else f"gridDim.x * {rows}"
      # Lanes of a warp whose rows are over still take part in shuffles.
      bound = (
        f"row < {plan.rows}"
        if rows == 1
        else (f"row - threadIdx.x / {shape.lanes} < {plan.rows}")
      )
      lines.append(f"for ({index} row = {first}; {bound}; row += {step}) {{")
    else:
      lines.append(f"const {index} row = {first};")
    if rows > 1:
      lines.append(f"const bool live = row < {plan.rows};")
    return [*lines, *self._row(held), *(["}"] if shape.stay else [])]

  def _row(self, held: bool) -> list[str]:
    plan, shape = self.plan, self.shape
    lines = [f"float held[ITEMS{self._times_v()}];"] if held else []
    passes = list(plan.passes)
    first = True
    if shape.online:
      lines += self._online(held)
      passes, first = passes[2:], False
    for step in passes:
      lines += self._pass(step, held, first)
      first = False
    if plan.each:
      body = [
        f"{name}[{{i}}] = " + parts.store(self.types[name], template) + ";"
        for name, template in plan.each.items()
      ]
      lines += self._loop(body, held, first)
    if plan.once:
      live = "live && " if shape.threads > shape.lanes else ""
      lines.append(f"if ({live}lane == 0) {{")
      for name, template in plan.once.items():
        value = self._plain(template).format(r="row")
        lines.append(f"{name}[row] = {parts.store(self.types[name], value)};")
      lines.append("}")
    if shape.stay and shape.lanes > 32:
      lines.append("__syncthreads();")
    return lines

  def _times_v(self) -> str:
    return " * V" if self.shape.vector > 1 else ""

  def _pass(self, step: Pass, held: bool, first: bool) -> list[str]:
    number = self.plan.number
    update = lanes.UPDATE[step.combine]
    start = lanes.start(step.combine, number)
    body = [update.format(a=step.name, b=step.element)]
    lines = [f"{number} {step.name} = {start};"]
    lines += self._loop(body, held, first)
    lines.append(
      f"{step.name} = {lanes.name(step.combine, self.shape.lanes)}({step.name}"
      f"{', part' if self.shape.lanes > 32 else ''});"
    )
    return lines + ([step.finish] if step.finish else [])

  def _online(self, held: bool) -> list[str]:
    body = [
      "if ({v} > m) {{\ns = s * expf(m - {v}) + 1.0f;\nm = {v};\n}}"
      " else if (m > -INFINITY) {{\ns += expf({v} - m);\n}}"
    ]
    block = ", part" if self.shape.lanes > 32 else ""
    return [
      "float m = -INFINITY, s = 0.0f;",
      *self._loop(body, held, True),
      f"const float top = {lanes.name('max', self.shape.lanes)}(m{block});",
      f"s = {lanes.name('sum', self.shape.lanes)}("
      f"m > -INFINITY ? s * expf(m - top) : 0.0f{block});",
      "m = top;",
    ]

  def _loop(self, body: list[str], held: bool, first: bool) -> list[str]:
    """One walk over the row."""
    plan, shape, wide = self.plan, self.shape, self.shape.vector > 1
    v = "V" if wide else "1"
    count = f" * {v}" if wide else ""
    live = "live && " if shape.threads > shape.lanes else ""
    if held:
      lines = [
        "#pragma unroll",
        "for (int t = 0; t < ITEMS; ++t) {",
        f"const int c = (t * {shape.lanes} + lane){count};",
        f"if ({live}c < {plan.cols}) {{",
      ]
    else:
      start = f"lane{count}"
      lines = [
        f"for ({self.style.index} c = {start}; {live}c < {plan.cols};"
        f" c += {shape.lanes}{count}) {{"
      ]
    texts = list(body)
    if any("{v}" in t for t in texts):
      texts = self._with_value(texts, held, first)
    packs, texts, stores = self._reads(texts)
    k = "c + k" if wide else "c"
    names = {"i": f"row * {plan.cols} + {k}", "c": f"({k})" if wide else k}
    inside = [t.format(**names, r="row", v="v") for t in texts]
    lines += packs
    if wide:
      lines += ["#pragma unroll", "for (int k = 0; k < V; ++k) {", *inside, "}"]
    else:
      lines += inside
    return [*lines, *stores, "}", *(["}"] if held else [])]

  def _with_value(self, texts, held: bool, first: bool) -> list[str]:
    """The texts behind a declaration of v."""
    number, value = self.plan.number, self.plan.value
    wide = self.shape.vector > 1
    at = ("t * V + k" if wide else "t") if held else "{c}"
    if held and first:
      return [f"{number} v = {value};", f"held[{at}] = v;", *texts]
    if held:
      return [f"{number} v = held[{at}];", *texts]
    if self.shape.keep == "shared" and first:
      return [f"{number} v = {value};", f"if (keep) cache[{at}] = v;", *texts]
    if self.shape.keep == "shared":
      return [f"{number} v = keep ? cache[{at}] : {value};", *texts]
    return [f"{number} v = {value};", *texts]

  def _reads(self, texts):
    """Replaces arrays by what was read of them, in vectors or not."""
    packs, stores, seen = [], [], {}
    wide = self.shape.vector > 1

    def replace(match: re.Match) -> str:
      """A value's name, or the element itself."""
      name, index = match.groups()
      if name not in self.types:
        return match.group()
      at = f"row * {self.plan.cols} + c" if index == "i" else "c"
      kind = C_TYPES[self.types[name]]
      if not wide or conditional:
        return parts.load(self.types[name], match.group())
      if (name, index) not in seen:
        seen[name, index] = f"{name}_{index}"
        packs.append(
          f"const Pack<{kind}, V> {name}_{index} ="
          f" *reinterpret_cast<const Pack<{kind}, V>*>(&{name}[{at}]);"
        )
      return parts.load(self.types[name], f"{seen[name, index]}.v[k]")

    made = []
    for text in texts:
      # What is read only if something does not fit is not read ahead.
      conditional = text.find("keep ? cache") >= 0
      written = re.match(r"(\w+)\[\{i\}\] = (.*);$", text, re.DOTALL)
      if written and written.group(1) in self.types:
        name, value = written.groups()
        value = self._plain(_STREAM.sub(replace, value))
        kind = C_TYPES[self.types[name]]
        if wide:
          packs.append(f"Pack<{kind}, V> {name}_o;")
          made.append(f"{name}_o.v[k] = {value};")
          stores.append(
            f"*reinterpret_cast<Pack<{kind}, V>*>"
            f"(&{name}[row * {self.plan.cols} + c]) = {name}_o;"
          )
        else:
          made.append(f"{name}[{{i}}] = {value};")
      else:
        made.append(self._plain(_STREAM.sub(replace, text)))
    return packs, made, stores

  def _plain(self, text: str) -> str:
    """Elements at any other index, converted where they are read."""

    def replace(match: re.Match) -> str:
      """The element as a number."""
      name = match.group(1)
      if name not in self.types or _STREAM.fullmatch(match.group()):
        return match.group()
      return parts.load(self.types[name], match.group())

    return _PLAIN.sub(replace, text)
