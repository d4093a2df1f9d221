"""How much of a device a kernel uses, and which limit binds.

The limits are what two small kernels of ours reach on the same device, timed by
the evaluator: copying (bytes) and multiply-adds in registers (operations). On
the cpu device they are limits of the emulation on this host.
"""

import json

from jaxkern.agent.case import Entry
from jaxkern.agent.graph import Graph
from jaxkern.agent.subject import Subject
from jaxkern.evaluator import Evaluator, Request, Result
from jaxkern.tasks.define import define

_KIND = "limits"
_SIZES = {"cpu": 1 << 20, "cuda": 1 << 26}
_STEPS = 256
_COPY = """
extern "C" __global__ void copy(const float4* x, float4* y, int64_t n) {
  int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) * 4;
  for (int k = 0; k < 4; ++k) if (i + k < n / 4) y[i + k] = x[i + k];
}
extern "C" int launch(
    const float* x, float* y, int64_t n, cudaStream_t stream) {
  copy<<<(n / 16 + 255) / 256, 256, 0, stream>>>(
      (const float4*)x, (float4*)y, n);
  return cudaGetLastError();
}
"""
_COMPUTE = """
extern "C" __global__ void compute(const float* x, float* y, int64_t n) {
  int64_t i = (blockIdx.x * (int64_t)blockDim.x + threadIdx.x) * 16;
  if (i + 16 > n) return;
  float s[16];
  for (int k = 0; k < 16; ++k) s[k] = x[i + k];
  for (int t = 0; t < STEPS; ++t)
    for (int k = 0; k < 16; ++k) s[k] = fmaf(s[k], 0.5f, 0.25f);
  for (int k = 0; k < 16; ++k) y[i + k] = s[k];
}
extern "C" int launch(
    const float* x, float* y, int64_t n, cudaStream_t stream) {
  compute<<<(n / 16 + 255) / 256, 256, 0, stream>>>(x, y, n);
  return cudaGetLastError();
}
""".replace("STEPS", str(_STEPS))


def measure(evaluator: Evaluator, graph: Graph, device: str) -> dict:
  """{'bytes_per_s', 'flops_per_s'} of a device; measured once per graph.

  Empty if it cannot be measured.
  """
  for entry in graph.journal("limits"):
    known = json.loads(entry.text)
    if known["device"] == device and known["by"] == evaluator.describe():
      return known["limits"]
  n = _SIZES[device]
  limits = {}
  for key, kernel, formula, amount in (
    ("bytes_per_s", _COPY, "y = x", 8.0 * n),
    (
      "flops_per_s",
      _COMPUTE,
      f"y = lax.fori_loop(0, {_STEPS}, lambda t, s: s * 0.5 + 0.25, x)",
      2.0 * _STEPS * (n // 16),
    ),
  ):
    size = n if key == "bytes_per_s" else n // 16
    task = define(
      f"limit_{key}",
      "x[n] -> y[n]",
      formula,
      sizes={"n": (16, size, 64, size)},
      kernel=kernel,
      kinds=(),
      tolerance=(1e-5, 1e-5),
    )
    [result] = evaluator.evaluate([Request(task, kernel, 20)])
    if result.status != "ok" or not result.speedup:
      return {}
    limits[key] = amount / (1e-6 * result.baseline_us / result.speedup)
  text = {"device": device, "by": evaluator.describe(), "limits": limits}
  graph.note(Entry("limits", _KIND, json.dumps(text)))
  return limits


def use(result: Result, subject: Subject, limits: dict) -> dict:
  """What is known of a kernel's use of its device.

  Registers, shared memory and spills by the compiler; bandwidth and operations
  by its time, their shares of the limits, and the larger one: what binds.
  """
  known = {
    name: value
    for name in ("registers", "shared_bytes", "spill_bytes")
    if (value := getattr(result.resources, name)) >= 0
  }
  if result.status != "ok" or not result.speedup:
    return known
  seconds = 1e-6 * result.baseline_us / result.speedup
  known["us"] = 1e6 * seconds
  shares = {}
  for name, amount, limit in (
    ("bandwidth", subject.traffic, limits.get("bytes_per_s")),
    ("operations", subject.flops, limits.get("flops_per_s")),
  ):
    if amount:
      known[f"{name}_per_s"] = amount / seconds
      if limit:
        shares[name] = known[f"{name}_share"] = amount / seconds / limit
  if shares:
    known["bound"] = max(shares, key=shares.get)
    known["roofline_share"] = max(shares.values())
  return known


def words(facts: dict) -> str:
  """The same for a prompt."""
  parts = []
  if "us" in facts:
    parts.append(f"{facts['us']:.4g} us")
  for name, unit in (("bandwidth", "GB/s"), ("operations", "Gop/s")):
    if f"{name}_per_s" in facts:
      text = f"{facts[f'{name}_per_s'] / 1e9:.3g} {unit}"
      if f"{name}_share" in facts:
        text += f", {100 * facts[f'{name}_share']:.0f} % of the device's {name}"
      parts.append(text)
  if "bound" in facts:
    parts.append(f"bound by {facts['bound']}")
  for name in ("registers", "shared_bytes", "spill_bytes"):
    if name in facts:
      parts.append(f"{name.replace('_', ' ')} {facts[name]}")
  return "; ".join(parts)
