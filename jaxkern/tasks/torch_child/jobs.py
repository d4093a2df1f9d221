"""The kinds of jobs, each a function of (job, directory) to a result.

measure    cost at the problem's own sizes, and sizes that fit a budget
reference  inputs, expected outputs and tolerance
apply      outputs for inputs and weights that are given
trace      how a candidate's forward uses its extension
gpu        a model run and timed on a GPU
definition a flashinfer-bench definition's `run` on inputs that are given
"""

import json
import logging
import math
import pathlib
import warnings

import torch

from jaxkern.tasks.torch_child import cost, definition, gpu, problem, trace
from jaxkern.tasks.torch_child.arrays import load, save

_EPS = 2.0**-23
_STEP = 2.0**-26
_PERTURBATIONS = 3
# Of the outputs' mean size, that a tolerance may be.
_MOST_SHARE = 0.05


def run(job: dict, directory: pathlib.Path) -> None:
  """Does the job and writes its result.json."""
  logging.disable(logging.CRITICAL)
  warnings.simplefilter("ignore")
  kinds = {
    "measure": measure,
    "reference": reference,
    "apply": apply,
    "trace": trace.run,
    "gpu": gpu.run,
    "definition": definition.run,
  }
  try:
    result = kinds[job["kind"]](job, directory)
  except problem.Unfit as error:
    result = {"status": error.status, "log": str(error)}
  except Exception as error:
    text = f"{type(error).__name__}: {error}"
    result = {"status": "runtime_error", "log": text[:2000]}
  made = directory / "result.tmp"
  made.write_text(json.dumps(result))
  made.rename(directory / "result.json")


def measure(job: dict, directory: pathlib.Path) -> dict:
  """Costs, and the sizes to run at."""
  full = cost.measure(job["source"], {})
  budget = cost.Budget(**job["budget"])
  values, reduced, why = cost.reduce(job["source"], budget, job["seconds"])
  return {
    "status": "ok",
    "full": full._asdict(),
    "sizes": values,
    "reduced": reduced._asdict(),
    "over_budget": why,
  }


def reference(job: dict, directory: pathlib.Path) -> dict:
  """Files in{v}.{i}.npy, out{v}.{k}.npy of every variant, weights w.NAME.npy.

  The expected outputs are those of forward in float64, rounded once, where
  the model can be converted; else of forward as it is.
  """
  names = problem.load(job["source"], job["sizes"])
  device = torch.device(job.get("device", "cpu"))
  _plain_float32()
  with torch.no_grad():
    model = problem.make(names, "Model", job["weight_seed"]).to(device)
    names = {**names, "get_inputs": _moved(names["get_inputs"], device)}
    weights = _weights(model)
    exact, note = _exact(model, names, job["input_seeds"][0])
    variants, bounds = [], []
    for v, seed in enumerate(job["input_seeds"]):
      given = problem.inputs(names, seed)
      plain = problem.outputs(model(*given))
      if v == 0 and _random(model, names, seed, plain):
        raise problem.Unfit("unsupported", "forward draws random numbers")
      expected, bound = plain, (job["fallback"], job["fallback"])
      if exact is not None:
        expected, bound, scale = _judged(exact, given, plain, job["terms"])
        most = max(_MOST_SHARE * scale, job["fallback"])
        if bound[1] > most:
          note = f"ill-conditioned: derived atol {bound[1]:.3g} is cut"
          bound = (bound[0], most)
      bounds.append(bound)
      variants.append(_save_variant(directory, v, given, expected))
  arrays = {}
  for i, (name, tensor) in enumerate(weights.items()):
    arrays[name] = save(directory, f"w{i}", tensor)
  return {
    "status": "ok",
    "variants": variants,
    "weights": arrays,
    "rtol": max(b[0] for b in bounds),
    "atol": max(b[1] for b in bounds),
    "tolerance": note,
  }


def apply(job: dict, directory: pathlib.Path) -> dict:
  """Files out0.{k}.npy of Model on job['inputs'] and job['weights'].

  In float64 if job['double'], and of the dtypes that forward has without.
  """
  names = problem.load(job["source"], job["sizes"])
  with torch.no_grad():
    model = problem.make(names, "Model", job["weight_seed"])
    state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    for name, entry in job["weights"].items():
      state[name].copy_(load(entry, directory))
    given = [
      entry["value"] if "value" in entry else load(entry, directory)
      for entry in job["inputs"]
    ]
    made = problem.outputs(model(*given))
    if job["double"]:
      exact = problem.outputs(problem.double(model)(*problem.double(given)))
      made = [e.to(m.dtype) for e, m in zip(exact, made, strict=True)]
  return {
    "status": "ok",
    "outputs": [
      save(directory, f"out0.{k}", tensor) for k, tensor in enumerate(made)
    ],
  }


def _plain_float32() -> None:
  """Products in float32 are that, and not TF32."""
  torch.backends.cuda.matmul.allow_tf32 = False
  torch.backends.cudnn.allow_tf32 = False


def _moved(get_inputs, device: torch.device):
  return lambda: [
    x.to(device) if isinstance(x, torch.Tensor) else x for x in get_inputs()
  ]


def _weights(model: torch.nn.Module) -> dict[str, torch.Tensor]:
  state = {**dict(model.named_parameters()), **dict(model.named_buffers())}
  return {name: tensor.detach().clone() for name, tensor in state.items()}


def _exact(model, names: dict, seed: int):
  """Forward in float64 on given inputs, or None where it cannot be had."""

  def forward(given: list, step: float = 0.0) -> list[torch.Tensor]:
    """With floating inputs and weights moved by a relative step at random."""
    moved = problem.double(model)
    values = problem.double(given)
    if step:
      for tensor in [*moved.parameters(), *cost._tensors(values)]:
        if tensor.is_floating_point():
          tensor.mul_(1 + step * _signs(tensor))
    return problem.outputs(moved(*values))

  try:
    given = problem.inputs(names, seed)
    made = forward(given)
    if any(t.dtype == torch.float32 for t in made):
      return None, "kernelbench: forward leaves float64"
    return forward, "derived"
  except Exception as error:
    first = (str(error).splitlines() or [""])[0][:120]
    return None, f"kernelbench: not in float64 ({first})"


def _signs(tensor: torch.Tensor) -> torch.Tensor:
  signs = torch.randint_like(tensor, 0, 2) * 2 - 1
  return signs * (0.5 + torch.rand_like(tensor))


def _random(model, names: dict, seed: int, before: list) -> bool:
  """Whether another state of the generator gives another answer."""
  given = problem.inputs(names, seed)
  torch.manual_seed(seed + 1)
  after = problem.outputs(model(*given))
  return any(
    not torch.equal(a.nan_to_num(), b.nan_to_num())
    for a, b in zip(after, before, strict=True)
  )


def _judged(exact, given: list, plain: list, terms: int):
  """Expected outputs, (rtol, atol), their size (docs/kernelbench.md)."""
  expected = exact(given)
  growth = math.sqrt(terms)
  rtol = max(32, growth) * _EPS
  factor = (10 + 1.5 * growth) * _EPS
  squares = [torch.zeros_like(y) for y in map(problem.double, expected)]
  for _ in range(_PERTURBATIONS):
    for k, moved in enumerate(exact(given, _STEP)):
      if moved.is_floating_point():
        squares[k] += ((moved - expected[k]) / _STEP) ** 2
  atol, largest, outputs = 0.0, 0.0, []
  for y, square, seen in zip(expected, squares, plain, strict=True):
    outputs.append(y.to(seen.dtype))
    if not seen.is_floating_point() or not y.numel():
      continue
    finite = torch.isfinite(y) & torch.isfinite(square)
    felt = (square / _PERTURBATIONS).sqrt()
    excess = (factor * felt - rtol * y.abs())[finite]
    error = (seen.double() - y).abs()[finite]
    scale = y[finite].abs().mean().item() if finite.any() else 0.0
    largest = max(largest, scale)
    atol = max(
      atol,
      32 * _EPS * scale,
      4 * error.max().item() if error.numel() else 0.0,
      excess.max().item() if excess.numel() else 0.0,
    )
  return outputs, (rtol, atol), largest


def _save_variant(directory, v: int, given: list, expected: list) -> dict:
  return {
    "inputs": [
      save(directory, f"in{v}.{i}", value)
      if isinstance(value, torch.Tensor)
      else {"value": value}
      for i, value in enumerate(given)
    ],
    "outputs": [
      save(directory, f"out{v}.{k}", tensor)
      for k, tensor in enumerate(expected)
    ],
  }
