"""Device functions in which the lanes of a row agree on a sum or a maximum."""

from jaxkern.data.variants import parts

UPDATE = {
  "sum": "{a} += {b};",
  "max": "{a} = fmaxf({a}, {b});",
  "prod": "{a} *= {b};",
}
_START = {"sum": "0", "max": "-INFINITY", "prod": "1"}


def start(combine: str, number: str) -> str:
  """What changes nothing, as a literal of that type."""
  text = _START[combine]
  return text + ".0f" if number == "float" and text[-1] in "01" else text


def name(combine: str, lanes: int) -> str:
  """Of the function."""
  return f"{'block' if lanes > 32 else 'warp'}_{combine}"


def function(combine: str, number: str, lanes: int, way: str) -> str:
  """Its text.

  Args:
    combine: 'sum', 'max' or 'prod'.
    number: the C++ type.
    lanes: of a row; more than 32 are a block.
    way: 'xor' or 'down' by shuffles, 'tree' in shared memory.
  """
  if lanes > 32 and way == "tree":
    body = _tree(combine, lanes)
    return _text(number, f"block_{combine}", f", {number}* part", body)
  text = _text(number, f"warp_{combine}", "", _warp(combine, lanes, way))
  if lanes <= 32:
    return text
  body = _two_levels(combine, number, lanes)
  return text + _text(number, f"block_{combine}", f", {number}* part", body)


def _warp(combine: str, lanes: int, way: str) -> list[str]:
  wide = min(lanes, 32)
  w = f", {wide}" if wide < 32 else ""
  other = f"__shfl_{way}_sync(0xffffffff, v, o{w})"
  step = UPDATE[combine].format(a="v", b=other)
  return [
    "#pragma unroll",
    f"for (int o = {wide // 2}; o > 0; o /= 2) {step}",
    *([f"v = __shfl_sync(0xffffffff, v, 0{w});"] if way == "down" else []),
    "return v;",
  ]


_TOLD = ["v = part[0];", "__syncthreads();", "return v;"]


def _tree(combine: str, lanes: int) -> list[str]:
  return [
    "part[threadIdx.x] = v;",
    "__syncthreads();",
    f"for (int o = {lanes // 2}; o > 0; o /= 2) {{",
    "if (threadIdx.x < o) {",
    UPDATE[combine].format(a="part[threadIdx.x]", b="part[threadIdx.x + o]"),
    "}",
    "__syncthreads();",
    "}",
    *_TOLD,
  ]


def _two_levels(combine: str, number: str, lanes: int) -> list[str]:
  rest = f"threadIdx.x < {lanes // 32} ? part[threadIdx.x]"
  return [
    f"v = warp_{combine}(v);",
    "if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;",
    "__syncthreads();",
    "if (threadIdx.x < 32) {",
    f"v = {rest} : {start(combine, number)};",
    f"v = warp_{combine}(v);",
    "if (threadIdx.x == 0) part[0] = v;",
    "}",
    "__syncthreads();",
    *_TOLD,
  ]


def _text(number: str, name: str, extra: str, body: list[str]) -> str:
  lines = "\n".join(parts.indented(body))
  return (
    f"__device__ __forceinline__ {number} {name}({number} v{extra}) {{\n"
    f"{lines}\n}}\n\n"
  )
