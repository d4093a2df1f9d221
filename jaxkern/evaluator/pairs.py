"""A KernelBench problem and a candidate for it: one verdict.

Three roads, in this order:

  native     the candidate is CUDA C++ without Python: judged as any other
  extension  ModelNew.forward calls its extension and no more: the same as one
             C++ function, judged by the evaluator without torch
  torch      forward needs torch, or Triton: run and timed in a torch worker, on
             a GPU only; `status_by` says 'torch worker' then
"""

import math
import os
import pathlib
import re
import shutil
import statistics
import tempfile

import numpy as np

from jaxkern.evaluator import Evaluator, Request, device_lock
from jaxkern.tasks import job_files, kernelbench
from jaxkern.tasks.kernelbench import Prepared, Refused
from jaxkern.tasks.torch_worker import TorchWorker

_PYTHON = re.compile(r"^\s*(import|from)\s+\w", re.MULTILINE)
_BUILD_S = 300.0


class Judge:
  """Judges candidates in KernelBench's form; keeps what it has prepared."""

  def __init__(
    self,
    evaluator: Evaluator,
    worker: TorchWorker,
    cache: str | os.PathLike,
    *,
    device: str = "cpu",
    reduced: bool | None = None,
    repetitions: int = 20,
    run_timeout_s: float = 60.0,
    theirs: float = kernelbench.TOLERANCE,
    baselines: tuple[str, ...] = ("eager",),
  ):
    """What to judge with.

    Args:
      evaluator: of that device.
      worker: for references and for what needs torch.
      cache: a directory for prepared problems; it holds expected outputs.
      device: 'cpu' or 'cuda'.
      reduced: problems at sizes that fit the cpu device; None for on cpu only.
      repetitions: timed launches; 0 checks only.
      run_timeout_s: for all launches of a candidate together.
      theirs: the benchmark's tolerance, for `kernelbench_status`.
      baselines: on cuda: 'eager', or modes of torch.compile.
    """
    self._evaluator, self._worker = evaluator, worker
    self._alone = device_lock.Alone(worker, evaluator)
    self._cache = pathlib.Path(cache)
    self._device = device
    self._reduced = device == "cpu" if reduced is None else reduced
    self._repetitions, self._timeout_s = repetitions, run_timeout_s
    self._theirs, self._baselines = theirs, baselines
    self._timed: dict[pathlib.Path, dict] = {}

  def prepare(self, reference: str) -> Prepared:
    """The problem, run once. Raises Refused if it cannot be."""
    return kernelbench.prepare(
      self._alone if self._device == "cuda" else self._worker,
      reference,
      self._cache,
      reduced=self._reduced,
      device=self._device,
    )

  def judge(
    self, reference: str, candidate: str, road: str = "", build: str = ""
  ) -> dict:
    """The verdict as JSON: docs/kernelbench.md lists the fields.

    Args:
      reference: the problem's text.
      candidate: the kernel's.
      road: 'torch' for the torch worker where the evaluator would do.
      build: a directory with extensions that torch has built, for that road.
    """
    verdict = {
      "status": "infra_error",
      "kernelbench_status": "infra_error",
      "log": "",
      "device": self._device,
      "status_by": "evaluator",
      "road": "",
      "reduced": self._reduced,
      "evidence": {},
      "times_us": [],
      "us": 0.0,
      "baselines": {},
      "speedup": 0.0,
    }
    try:
      prepared = self.prepare(reference)
    except Refused as error:
      log = f"the reference cannot be run: {error}"
      verdict.update(
        status="unsupported", kernelbench_status="unsupported", log=log
      )
      return verdict
    verdict["evidence"] = _facts(prepared)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="pair-"))
    try:
      if road == "torch":
        self._with_torch(prepared, candidate, scratch, verdict, build)
      else:
        self._judge(prepared, candidate, scratch, verdict)
    finally:
      shutil.rmtree(scratch, ignore_errors=True)
    if self._device == "cuda" and verdict["status"] == "ok":
      verdict["baselines"] = self._baseline_times(prepared)
      _compare(verdict)
    return verdict

  def _judge(self, prepared, candidate, scratch, verdict) -> None:
    if not _PYTHON.search(candidate):
      verdict["road"] = "native"
      self._evaluate(prepared, candidate, None, scratch, verdict)
      return
    verdict["road"] = "extension"
    try:
      traced = kernelbench.trace(
        self._worker, prepared, candidate, scratch / "trace"
      )
    except Refused as error:
      if error.status != "extract_error" and self._device == "cuda":
        self._with_torch(prepared, candidate, scratch, verdict)
        return
      log = str(error)
      if error.status == "unsupported":
        log += "; the cpu device judges forwards that only call the extension"
      verdict.update(
        status=error.status, kernelbench_status=error.status, log=log
      )
      return
    self._evaluate(prepared, traced.text, traced, scratch, verdict)
    verdict["log"] = _placed(verdict["log"], traced, candidate)

  def _evaluate(self, prepared, text, traced, scratch, verdict) -> None:
    """By the evaluator: our tolerance, timed; theirs, checked."""
    bundles = {}
    for name, bounds in (("ours", None), ("theirs", (self._theirs,) * 2)):
      bundles[name] = scratch / name
      kernelbench.write_bundle(
        prepared, bundles[name], traced=traced, tolerance=bounds
      )
    options = {"run_timeout_s": self._timeout_s}
    (result,) = self._evaluator.evaluate(
      [Request(bundles["ours"], text, self._repetitions, **options)]
    )
    theirs = result.status
    if result.status in ("ok", "wrong_answer", "cheating"):
      (other,) = self._evaluator.evaluate(
        [Request(bundles["theirs"], text, rules=False, **options)]
      )
      theirs = other.status
    verdict.update(
      status=result.status,
      kernelbench_status=theirs,
      log=result.log,
      times_us=list(result.times_us),
    )
    told = result.to_dict()
    for name in ("replay", "log", "times_us"):
      told.pop(name, None)
    verdict["evidence"]["result"] = told
    if result.times_us:
      verdict["us"] = statistics.median(result.times_us)

  def _with_torch(
    self, prepared, candidate, scratch, verdict, build=""
  ) -> None:
    """ModelNew as such, on a GPU; the comparison is made here."""
    verdict.update(road="torch", status_by="torch worker")
    answer = self._on_gpu(prepared, candidate, "", scratch / "torch", build)
    status, log = answer["status"], answer.get("log", "")
    theirs = status
    if status == "ok":
      expected = prepared.facts["reference"]
      ours = (expected["rtol"], expected["atol"])
      where = scratch / "torch"
      try:
        times = _times(answer)
        status, log = _compared(prepared, answer, where, *ours)
        theirs, _ = _compared(
          prepared, answer, where, self._theirs, self._theirs
        )
        verdict["times_us"] = times
        verdict["us"] = statistics.median(times) if times else 0.0
      except job_files.Left as error:
        status = theirs = "crash"
        log = f"the job's result: {error}"
    verdict.update(status=status, kernelbench_status=theirs, log=log)

  def _on_gpu(self, prepared, candidate, mode, directory, build="") -> dict:
    directory.mkdir(parents=True)
    inputs = [v["inputs"] for v in prepared.facts["reference"]["variants"]]
    for entry in (e for variant in inputs for e in variant if "file" in e):
      shutil.copyfile(
        prepared.directory / entry["file"], directory / entry["file"]
      )
    job = {
      "kind": "gpu",
      "source": prepared.source,
      "sizes": prepared.sizes,
      "candidate": candidate,
      "compile": mode,
      "weight_seed": kernelbench.WEIGHT_SEED,
      "inputs": inputs,
      "repetitions": self._repetitions,
      "build": build or str(directory),
      "writable": ["/dev", *([build] if build else [])],
    }
    return self._alone.run(job, directory, _BUILD_S)

  def _baseline_times(self, prepared: Prepared) -> dict[str, dict]:
    """Medians in us by name, for one verdict; measured once per problem."""
    timed = self._timed.setdefault(prepared.directory, {})
    return {
      name: dict(timed.get(name) or self._baseline(prepared, name, timed))
      for name in self._baselines
    }

  def _baseline(self, prepared: Prepared, name: str, timed: dict) -> dict:
    """Measures one; kept in `timed` unless it failed."""
    with tempfile.TemporaryDirectory(prefix="base-") as scratch:
      mode = "" if name == "eager" else name
      answer = self._on_gpu(prepared, "", mode, pathlib.Path(scratch) / "run")
    times = answer.get("times_us") or []
    us = statistics.median(times) if times else 0.0
    found = {"us": us, "note": answer.get("log", "")}
    if times:
      timed[name] = found
    return found


def _compare(verdict: dict) -> None:
  for baseline in verdict["baselines"].values():
    if verdict["us"]:
      baseline["speedup"] = baseline["us"] / verdict["us"]
  first = next(iter(verdict["baselines"].values()), {})
  verdict["speedup"] = first.get("speedup", 0.0)


def _facts(prepared: Prepared) -> dict:
  measured, made = (prepared.facts[k] for k in ("measure", "reference"))
  return {
    "rtol": made["rtol"],
    "atol": made["atol"],
    "tolerance": made["tolerance"],
    "variants": len(made["variants"]),
    "cost": measured["reduced" if prepared.facts["reduced"] else "full"],
    "full_cost": measured["full"],
    "changed_sizes": prepared.sizes,
  }


def _times(answer: dict) -> list[float]:
  """The samples of a job; raises Left if they cannot be that."""
  times = answer.get("times_us")
  if not isinstance(times, list) or not all(
    type(t) in (int, float) and 0 < t < math.inf for t in times
  ):
    raise job_files.Left("its times are no positive numbers")
  return times


def _compared(prepared, answer, where, rtol, atol) -> tuple[str, str]:
  """Status and log of the outputs in `where`; raises Left."""
  variants = prepared.facts["reference"]["variants"]
  outputs = answer.get("outputs")
  if (
    not isinstance(outputs, list)
    or not all(isinstance(made, list) for made in outputs)
    or len(outputs) != len(variants)
  ):
    raise job_files.Left("it has no outputs for each of the inputs")
  for variant, made in zip(variants, outputs, strict=True):
    if len(made) != len(variant["outputs"]):
      wants, got = len(variant["outputs"]), len(made)
      return "wrong_answer", f"{got} tensors returned, expected {wants}"
    for k, (want, got) in enumerate(zip(variant["outputs"], made, strict=True)):
      job_files.check_entry(got)
      if (want["shape"], want["dtype"]) != (got["shape"], got["dtype"]):
        text = f"y{k} is {got['dtype']}{got['shape']}, expected "
        return "wrong_answer", text + f"{want['dtype']}{want['shape']}"
      x = _wide(job_files.load(where, got), got["dtype"])
      y = _wide(job_files.load(prepared.directory, want), want["dtype"])
      wrong = ~np.isclose(x, y, rtol, atol, equal_nan=True)
      if wrong.any():
        at = tuple(int(i[0]) for i in np.nonzero(np.atleast_1d(wrong)))
        text = f"{int(wrong.sum())} of {wrong.size} elements of y{k} differ,"
        x, y = np.atleast_1d(x), np.atleast_1d(y)
        return "wrong_answer", f"{text} first {at}: {x[at]} for {y[at]}"
  return "ok", ""


def _wide(array: np.ndarray, dtype: str) -> np.ndarray:
  if dtype == "bfloat16":
    array = (array.astype(np.uint32) << 16).view(np.float32)
  return array.astype(np.float64) if array.dtype.kind == "f" else array


def _placed(log: str, traced: kernelbench.Trace, candidate: str) -> str:
  """Line numbers of the candidate's text, where its CUDA text is in it."""
  offsets = []
  for cuda in traced.cuda:
    start, at = traced.text.find(cuda), candidate.find(cuda)
    if start >= 0 and at >= 0:
      first = traced.text.count("\n", 0, start)
      count = cuda.count("\n") + 1
      shift = candidate.count("\n", 0, at) - first
      offsets.append((first, first + count, shift))

  def moved(match: re.Match) -> str:
    """The same place as the model knows it."""
    line = int(match[2])
    for first, last, shift in offsets:
      if first < line <= last:
        return f"{match[1]}{line + shift}"
    return match[0]

  return re.sub(r"(kernel\.cu:|^ +)(\d+)(?=:| \|)", moved, log, flags=re.M)
