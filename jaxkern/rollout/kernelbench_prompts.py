"""Prompts for KernelBench's problems: one example, then the problem.

With a checkout whose prompts lie in prompts.toml its own text is used, read at
run time; otherwise a text of ours with the same parts in the same order (task,
example, problem, precision, instruction) and other words.
"""

import os
import pathlib
import re
import tomllib

_FENCE = re.compile(r"```(?:python|cpp|cuda|c\+\+)?[ \t]*\n(.*?)```", re.DOTALL)
_TOML = ("src/kernelbench/prompts/prompts.toml", "src/prompts/prompts.toml")

_EXAMPLE = """import torch
import torch.nn as nn


class Model(nn.Module):
  def __init__(self):
    super().__init__()

  def forward(self, x, y):
    return x * y


def get_inputs():
  return [torch.rand(512, 300), torch.rand(512, 300)]


def get_init_inputs():
  return []
"""

_ANSWER = '''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>
#include <cuda_runtime.h>

__global__ void multiply_kernel(const float* x, const float* y, float* z,
                                int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) z[i] = x[i] * y[i];
}

torch::Tensor multiply(torch::Tensor x, torch::Tensor y) {
  auto z = torch::empty_like(x);
  int n = x.numel();
  multiply_kernel<<<(n + 255) / 256, 256>>>(
      x.data_ptr<float>(), y.data_ptr<float>(), z.data_ptr<float>(), n);
  return z;
}
"""

multiply = load_inline(
  name="multiply",
  cpp_sources="torch::Tensor multiply(torch::Tensor x, torch::Tensor y);",
  cuda_sources=source,
  functions=["multiply"],
)


class ModelNew(nn.Module):
  def __init__(self):
    super().__init__()

  def forward(self, x, y):
    return multiply.multiply(x, y)
'''

_OURS = """Below is a PyTorch module named Model. Write CUDA kernels that do \
its work faster. Which operations become kernels of yours, which are fused and \
by what algorithm is up to you.

An example of the form, a module and an answer:

{example}

{answer}

The module to be replaced:

{problem}

Computation is in float32. Answer with one Python file in a fenced block: it \
defines ModelNew, with the same constructor and forward as Model, and is \
complete as it stands. No explanation and no tests.
"""


def one_shot(problem: str, checkout: str | os.PathLike | None = None) -> str:
  """The prompt for a problem's text."""
  for name in _TOML if checkout else ():
    path = pathlib.Path(checkout) / name
    if path.exists():
      return _theirs(problem, path, pathlib.Path(checkout))
  return _OURS.format(
    example=_fenced(_EXAMPLE), answer=_fenced(_ANSWER), problem=_fenced(problem)
  )


def extract(completion: str) -> str:
  """The last fenced block that defines ModelNew, else the first, else all."""
  blocks = _FENCE.findall(completion)
  whole = [block for block in blocks if "ModelNew" in block]
  return (whole[-1:] or blocks[:1] or [completion])[0]


def _fenced(text: str) -> str:
  return f"```python\n{text.strip()}\n```"


def _theirs(problem: str, path: pathlib.Path, checkout: pathlib.Path) -> str:
  """The checkout's one-shot prompt for CUDA in float32.

  Raises:
    ValueError: its template is not of the kind that is known.
  """
  table = tomllib.loads(path.read_text())
  try:
    backend, shared = table["backends"]["cuda"], table["shared"]
    common = table["templates"]["common"]
    facts = {
      "backend_display": backend["backend_display"],
      "precision_display": table["precision"]["fp32"]["precision_display"],
      "ref_arch_src": problem,
    }
    entry = common["example_entry_template"].strip()
    facts["examples_entries"] = entry.format(
      example_label="Example:",
      input_code=(checkout / shared["few_shot_example_arch"]).read_text(),
      output_code=(checkout / backend["one_shot_new_arch"]).read_text(),
      **facts,
    )
    intro = common["example_intro_one_shot"].strip()
    facts["examples_intro"] = intro.format(**facts)
    parts = [
      (shared if name in shared else common)[name].strip()
      for name in table["options"]["one_shot"]["components"]
    ]
    return "\n\n".join(part.format(**facts) for part in parts) + "\n"
  except KeyError as error:
    raise ValueError(f"{path}: expected {error} in it, got none") from None
