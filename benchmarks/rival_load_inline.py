"""KernelBench's own way: load_inline in parallel processes; needs PyTorch.

  python benchmarks/rival_load_inline.py --count=16

The candidates of evaluator_throughput.py, each with the wrapper that a
KernelBench candidate has: a function of torch.Tensors that checks, allocates
and calls. As many processes as cores build them, each in a build directory of
its own, so that none waits for another's lock or finds its object. What is
built is run on its task's cases, compared, and timed with CUDA events, one
candidate at a time on the GPU. The last line is a JSON object with the figures.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time

import native_candidates
import numpy as np
import torch_candidates

from jaxkern.tasks.task import Task, shape_of

# As our nvcc has them, and PyTorch's bans on operators of half types undone.
FLAGS = ["-O3", "--extended-lambda"] + [
  f"-U__CUDA_NO_{name}__"
  for name in (
    "HALF_OPERATORS",
    "HALF_CONVERSIONS",
    "BFLOAT16_CONVERSIONS",
    "HALF2_OPERATORS",
  )
]
CASES, TIMED = 5, 100  # KernelBench's correctness and performance trials.


def build(index: int, directory: str):
  """The extension, built with what load_inline itself adds."""
  from torch.utils.cpp_extension import load_inline

  task, source = native_candidates.candidates(index + 1)[index]
  declaration, definition = torch_candidates.wrapper(task)
  folder = os.path.join(directory, str(index))
  os.makedirs(folder)
  return task, load_inline(
    name=f"candidate_{index}",
    cpp_sources=declaration,
    cuda_sources=torch_candidates.HEADERS + source + "\n" + definition,
    functions=["run"],
    extra_cuda_cflags=FLAGS,
    build_directory=folder,
    verbose=False,
  )


def tensor(array):
  """On the GPU; bfloat16 by its bits, which numpy has no type for."""
  import torch

  array = np.asarray(array)
  if array.dtype.name == "bfloat16":
    bits = torch.from_numpy(array.view(np.int16).copy())
    return bits.view(torch.bfloat16).cuda()
  return torch.from_numpy(array.copy()).cuda()


def check_and_time(task: Task, module) -> float:
  """Microseconds of the timed case; raises if an output is wrong."""
  import torch

  rng = np.random.default_rng(0)
  cases = [*task.cases[:CASES], task.cases[task.timed[0]]]
  for attributes in cases:
    inputs = task.make_inputs(rng, attributes)
    expected = task.reference(inputs, attributes)
    given = [
      attributes[a.name] if a.kind == "attribute" else tensor(inputs[a.name])
      for a in task.arguments
      if a.kind != "output"
    ]
    outputs = module.run(*given)
    torch.cuda.synchronize()
    rtol, atol = task.tolerance(attributes)
    wanted = [a for a in task.arguments if a.kind == "output"]
    for argument, output in zip(wanted, outputs, strict=True):
      assert tuple(output.shape) == shape_of(argument, attributes)
      right = tensor(expected[argument.name])
      torch.testing.assert_close(output, right, rtol=rtol, atol=atol)
  start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
  samples = []
  for _ in range(TIMED):
    start.record()
    module.run(*given)
    end.record()
    torch.cuda.synchronize()
    samples.append(1e3 * start.elapsed_time(end))
  return statistics.median(samples)


def work(directory, gpu, jobs, done) -> None:
  """One process: builds what comes, and judges it while it holds the GPU."""
  for index in iter(jobs.get, None):
    start = time.perf_counter()
    try:
      task, module = build(index, directory)
      seconds = time.perf_counter() - start
      with gpu:
        done.put((index, seconds, check_and_time(task, module), ""))
    except Exception as error:
      message = f"{type(error).__name__}: {error}"[:500]
      done.put((index, time.perf_counter() - start, 0.0, message))


def main():
  """Measures and prints."""
  flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
  flags.add_argument("--count", type=int, default=16, help="candidates")
  flags.add_argument("--processes", type=int, default=0, help="0: one per core")
  flags = flags.parse_args()
  cores = len(os.sched_getaffinity(0))
  processes = flags.processes or cores
  os.environ["JAX_PLATFORMS"] = "cpu"  # References: the GPU is torch's.
  os.environ["MAX_JOBS"] = "1"  # Of each build: the processes fill the cores.
  context = multiprocessing.get_context("spawn")
  jobs, done, gpu = context.Queue(), context.Queue(), context.Lock()
  for job in [*range(flags.count), *[None] * processes]:
    jobs.put(job)
  with tempfile.TemporaryDirectory() as directory:
    workers = [
      context.Process(target=work, args=(directory, gpu, jobs, done))
      for _ in range(processes)
    ]
    start = time.perf_counter()
    for worker in workers:
      worker.start()
    results = []
    for _ in range(flags.count):
      results.append(done.get())
      index, seconds, _, error = results[-1]
      print(f"{len(results)}/{flags.count}: candidate {index} took", end=" ")
      print(f"{seconds:.1f} s to build {error}", flush=True)
    wall = time.perf_counter() - start
    for worker in workers:
      worker.join()
  right = [r for r in results if not r[3]]
  line = {
    "what": "torch.utils.cpp_extension.load_inline in parallel processes",
    "candidates_per_s": len(right) / wall,
    "compile_s_median": statistics.median(r[1] for r in right) if right else 0,
    "failed": len(results) - len(right),
    "first_error": next((r[3] for r in results if r[3]), ""),
    "processes": processes,
    "cores": cores,
    "device": "cuda",
    "form": "kernelbench",
  }
  print(json.dumps(line))


if __name__ == "__main__":
  main()
