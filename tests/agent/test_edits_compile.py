"""What the edits make is CUDA for a GPU, too: nvcc takes it."""

import subprocess

import pytest

from jaxkern.agent.edits import moves
from jaxkern.tasks import suite
from tests.data.test_cuda_compiles import nvcc

CHAINS = (
  ("restrict", "exponent", "reuse", "reciprocal", "rows:8", "split:8"),
  ("compare", "intrinsic", "lanes:4", "block:64", "unroll:4"),
  ("int32", "stage"),
  ("warp",),
)
NAMES = ("launch", "kernel", "T", "in", "out", "near_exp", "larger", "smaller")


def one_unit(sources):
  """Each in names of its own, after the headers that would not like them."""
  headers = ("cuda_fp16.h", "cuda_bf16.h", "cmath", "cstdint")
  text = "".join(f"#include <{h}>\n" for h in headers)
  for k, source in enumerate(sources):
    text += "".join(f"#define {n} {n}_{k}\n" for n in NAMES)
    text += source + "".join(f"#undef {n}\n" for n in NAMES)
  return text


def test_nvcc_compiles_edited_kernels(tmp_path):
  if nvcc() is None:
    pytest.skip("no nvcc: install jaxkern-cuda[test]")
  sources = []
  for k, name in enumerate(suite.names(set="suite")[::5]):
    chain = CHAINS[k % len(CHAINS)]
    source, done = moves.applied(suite.get(name).baseline, chain)
    if done:
      sources.append(source)
  unit = tmp_path / "all.cu"
  unit.write_text(one_unit(sources))
  command = [nvcc(), "-cubin", "-arch=sm_90"]
  command += ["-o", str(tmp_path / "all.cubin"), str(unit)]
  done = subprocess.run(command, capture_output=True, text=True)
  assert done.returncode == 0, done.stderr
  assert len(sources) > 25
