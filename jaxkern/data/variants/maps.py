"""Any naive kernel with its threads divided anew.

The body of a naive kernel (a thread per output) is taken as it stands; new are
narrow indices, vectors where elements lie side by side, several outputs per
thread, a grid-stride loop, the block's size, and what the compiler is told.
"""

import re

import numpy as np

from jaxkern.data.variants import parts
from jaxkern.data.variants.parts import pick
from jaxkern.tasks.task import C_TYPES, Task

_KERNEL = re.compile(
  r"\A(?P<head>.*?)__global__ void kernel\((?P<parameters>[^{]*)\) \{\n"
  r"\s*int64_t i = [^\n]*\n\s*if \(i >= (?P<count>[^\n]*)\) return;\n"
  r"(?P<body>.*?)\n\}\n\nextern",
  re.DOTALL,
)


def body_of(task: Task) -> re.Match | None:
  """Head, count and body of a naive kernel; None if it has another form."""
  return _KERNEL.match(task.baseline)


def write(task: Task, found: re.Match, rng: np.random.Generator) -> str:
  """A kernel in a random way."""
  style = parts.look(rng, pick(rng, ("map", "element", task.family)))
  narrow = rng.random() < 0.75
  style = style._replace(index="int" if narrow else "int64_t")
  threads = pick(rng, (128, 256, 256, 512))
  body, count = found["body"], found["count"]
  if narrow:
    body = body.replace("int64_t", "int")
  if style.unroll and "#pragma" not in body:
    body = re.sub(
      r"^(\s*)(for \(int c)", r"\1#pragma unroll 4\n\1\2", body, flags=re.M
    )
  packs = _packs(task, body)
  width = 16 // max(parts.BYTES[d] for d in parts.dtypes(task).values())
  way = pick(rng, ("stride", "several", "vector", "vector"))
  if way == "vector" and not packs:
    way = pick(rng, ("stride", "several"))
  each = pick(rng, (2, 4)) if way == "several" else 1
  if way == "vector":
    lines, template = _vector(task, style, body, count, packs), "int V"
    head = (
      "template <typename T_, int V>\nstruct alignas(sizeof(T_) * V) Pack {\n"
      "  T_ v[V];\n};\n\n"
    )
  else:
    head, template = "", ""
    lines = _scalar(style, body, count, threads, each)
  device = found["head"].lstrip() + head
  device = re.sub(r"#include[^\n]*\n+", "", device)
  device += parts.kernel(task, style, lines, threads, template)
  launch = _launch(task, style, count, threads, way, each, width)
  note = {
    "stride": "Blocks stay and take element after element.",
    "several": "Several elements per thread.",
    "vector": "16 bytes per load.",
  }[way]
  return parts.unit(task, style, device, launch, note)


def _packs(task: Task, body: str) -> list[tuple[str, bool]]:
  """Arrays that are only used at [i], and whether they are written."""
  found = []
  for argument in task.arguments:
    if argument.kind == "attribute":
      continue
    uses = re.findall(rf"\b{argument.name}\b(\[i\])?", body)
    if uses and all(uses):
      found.append((argument.name, argument.kind == "output"))
  outputs = [a.name for a in task.arguments if a.kind == "output"]
  # Outputs elsewhere would be written by nobody's neighbour.
  return found if all((name, True) in found for name in outputs) else []


def _vector(task, style, body, count, packs) -> list[str]:
  types = parts.dtypes(task)
  index = style.index
  lines = [
    f"const {index} step = ({index})gridDim.x * blockDim.x * V;",
    f"{index} first = (({index})blockIdx.x * blockDim.x + threadIdx.x) * V;",
    f"for (; first < {count}; first += step) {{",
  ]
  for name, written in packs:
    kind = C_TYPES[types[name]]
    if written:
      lines.append(f"Pack<{kind}, V> {name}_p;")
    else:
      lines.append(
        f"const Pack<{kind}, V> {name}_p ="
        f" *reinterpret_cast<const Pack<{kind}, V>*>({name} + first);"
      )
    body = re.sub(rf"\b{name}\[i\]", f"{name}_p.v[k_]", body)
  lines += ["#pragma unroll", "for (int k_ = 0; k_ < V; ++k_) {"]
  if re.search(r"\bi\b", body):
    lines.append(f"const {index} i = first + k_;")
  lines += [body, "}"]
  for name, written in packs:
    if written:
      kind = C_TYPES[types[name]]
      lines.append(
        f"*reinterpret_cast<Pack<{kind}, V>*>({name} + first) = {name}_p;"
      )
  return [*lines, "}"]


def _scalar(style, body: str, count: str, threads: int, each: int) -> list[str]:
  index = style.index
  if each == 1:
    return [
      f"const {index} step = ({index})gridDim.x * blockDim.x;",
      f"{index} i = ({index})blockIdx.x * blockDim.x + threadIdx.x;",
      f"for (; i < {count}; i += step) {{",
      body,
      "}",
    ]
  return [
    f"const {index} first = ({index})blockIdx.x * {threads * each}"
    " + threadIdx.x;",
    "#pragma unroll",
    f"for (int e_ = 0; e_ < {each}; ++e_) {{",
    f"const {index} i = first + e_ * {threads};",
    f"if (i < {count}) {{",
    body,
    "}",
    "}",
  ]


def _launch(task, style, count, threads, way, each, width) -> list[str]:
  name, call = style.name, parts.arguments(task)
  lines = [f"int64_t count = {count};"]
  if way == "several":
    blocks = parts.quotient(style, "count", threads * each)
    return [
      *lines,
      f"int64_t blocks = {blocks};",
      f"{name}<<<blocks, {threads}, 0, stream>>>({call});",
    ]
  per = threads * (width if way == "vector" else 1)
  lines += [
    f"int64_t blocks = {parts.quotient(style, 'count', per)};",
    "if (blocks > 4224) blocks = 4224;",
  ]
  if way == "stride":
    return [*lines, f"{name}<<<blocks, {threads}, 0, stream>>>({call});"]
  return [
    *lines,
    f"if (count % {width} == 0) {{",
    f"{name}<{width}><<<blocks, {threads}, 0, stream>>>({call});",
    "} else {",
    f"{name}<1><<<blocks, {threads}, 0, stream>>>({call});",
    "}",
  ]
