"""Models run and timed on a GPU, as torch does it: baselines, and candidates
whose forward needs torch.

Time is that between CUDA events on the current stream around one forward, the
cache emptied before, the inputs another of the variants each time. A candidate
runs in the same process as this clock and could deceive it: such verdicts are
marked as torch's, and are weaker than the evaluator's.
"""

import importlib.util
import os
import pathlib

import torch

from jaxkern.tasks.torch_child import arrays, problem

_WARM_UP = 3
_FLUSH_BYTES = 256 << 20


def run(job: dict, directory: pathlib.Path) -> dict:
  """The job 'gpu': outputs of all variants to files, and times in us.

  job: source, candidate ('' to run Model itself), sizes, weight_seed, inputs
  (a list of files or values per variant), repetitions, compile ('' for eager,
  else a mode of torch.compile), build (a directory of built extensions), tf32.
  """
  if not torch.cuda.is_available():
    raise problem.Unfit("infra_error", "torch finds no GPU")
  torch.backends.cuda.matmul.allow_tf32 = job.get("tf32", False)
  torch.backends.cudnn.allow_tf32 = job.get("tf32", False)
  names = problem.load(job["source"], job["sizes"])
  entry = "Model"
  if job["candidate"]:
    os.environ["TORCH_EXTENSIONS_DIR"] = job["build"]
    names, entry = _candidate(names, job["candidate"], directory), "ModelNew"
  with torch.no_grad():
    model = problem.make(names, entry, job["weight_seed"]).cuda()
    if job["compile"]:
      model = torch.compile(model, mode=job["compile"])
    variants = [_load(files, directory) for files in job["inputs"]]
    made = []
    for v, given in enumerate(variants):
      torch.manual_seed(0)
      tensors = problem.outputs(model(*given))
      torch.cuda.synchronize()
      made.append(
        [
          arrays.save(directory, f"out{v}.{k}", t)
          for k, t in enumerate(tensors)
        ]
      )
      del tensors
    times = _time(model, variants, job["repetitions"])
  return {
    "status": "ok",
    "outputs": made,
    "times_us": times,
    "device": torch.cuda.get_device_name(),
    "torch": torch.__version__,
  }


def _candidate(names: dict, text: str, directory: pathlib.Path) -> dict:
  """Imported from a file, since Triton reads the source of its kernels."""
  path = directory / "candidate.py"
  path.write_text(text)
  spec = importlib.util.spec_from_file_location("candidate", path)
  module = importlib.util.module_from_spec(spec)
  try:
    spec.loader.exec_module(module)
  except SyntaxError as error:
    message = f"line {error.lineno}: {error.msg}"
    raise problem.Unfit("extract_error", message) from None
  except ImportError as error:
    if "triton" in str(error):
      raise problem.Unfit("unsupported", f"needs {error.name}") from None
    raise problem.Unfit("compile_error", str(error)) from None
  except RuntimeError as error:
    if "building extension" in str(error) or "ninja" in str(error):
      raise problem.Unfit("compile_error", str(error)[:4000]) from None
    raise
  if not hasattr(module, "ModelNew"):
    raise problem.Unfit("extract_error", "the candidate defines no ModelNew")
  return {**names, "ModelNew": module.ModelNew}


def _load(files: list, directory: pathlib.Path) -> list:
  return [
    entry["value"] if "value" in entry else arrays.load(entry, directory).cuda()
    for entry in files
  ]


def _time(model, variants: list[list], repetitions: int) -> list[float]:
  if not repetitions:
    return []
  flush = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda")
  for k in range(_WARM_UP):
    model(*variants[k % len(variants)])
  times = []
  for k in range(repetitions):
    flush.zero_()
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    model(*variants[k % len(variants)])
    end.record()
    torch.cuda.synchronize()
    times.append(start.elapsed_time(end) * 1000)
  return times
