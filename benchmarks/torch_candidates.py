"""The native candidates with the wrapper that a KernelBench candidate has.

A function of torch.Tensors that checks, allocates and calls, given as text
(`evaluator_throughput.py --form=torch`) or built by load_inline itself
(`rival_load_inline.py`).
"""

import native_candidates

from jaxkern.tasks.task import C_TYPES, Task

TORCH_TYPES = {
  "float32": "torch::kFloat32",
  "float16": "torch::kFloat16",
  "bfloat16": "torch::kBFloat16",
  "int32": "torch::kInt32",
  "int64": "torch::kInt64",
  "bool": "torch::kBool",
}
ATTRIBUTE_TYPES = {"int64": "int64_t", "float32": "double", "bool": "bool"}
# load_inline includes torch/extension.h, cuda.h and cuda_runtime.h by itself.
HEADERS = """#include <ATen/cuda/CUDAContext.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector>
"""
PROGRAM = """import torch
from torch.utils.cpp_extension import load_inline

cuda_source = r'''
{cuda}
'''

extension = load_inline(
  name="candidate",
  cpp_sources="{declaration}",
  cuda_sources=cuda_source,
  functions=["run"],
)
"""


def wrapper(task: Task) -> tuple[str, str]:
  """A declaration, and C++ text that defines `run` over `launch`."""
  parameters, arguments, lines, made = [], [], [], []
  for a in task.arguments:
    if a.kind == "attribute":
      parameters.append(f"{ATTRIBUTE_TYPES[a.dtype]} {a.name}")
      arguments.append(f"static_cast<{C_TYPES[a.dtype]}>({a.name})")
      continue
    if a.kind == "input":
      parameters.append(f"torch::Tensor {a.name}")
      lines.append(f"TORCH_CHECK({a.name}.is_cuda());")
    else:
      options = f"torch::device(torch::kCUDA).dtype({TORCH_TYPES[a.dtype]})"
      extents = ", ".join(str(e) for e in a.shape)
      lines.append(f"auto {a.name} = torch::empty({{{extents}}}, {options});")
      made.append(a.name)
    const = "const " if a.kind == "input" else ""
    arguments.append(
      f"static_cast<{const}{C_TYPES[a.dtype]}*>({a.name}.data_ptr())"
    )
  head = f"std::vector<torch::Tensor> run({', '.join(parameters)})"
  arguments.append("at::cuda::getCurrentCUDAStream()")
  lines.append(f"TORCH_CHECK(launch({', '.join(arguments)}) == 0);")
  lines.append(f"return {{{', '.join(made)}}};")
  return head + ";", head + " {\n  " + "\n  ".join(lines) + "\n}\n"


def candidates(count: int) -> list[tuple[Task, str]]:
  """As many Python texts that call load_inline."""
  made = []
  for task, source in native_candidates.candidates(count):
    declaration, definition = wrapper(task)
    cuda = "#include <torch/extension.h>\n" + HEADERS + source + definition
    made.append((task, PROGRAM.format(cuda=cuda, declaration=declaration)))
  return made
