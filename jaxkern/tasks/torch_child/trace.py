"""What a candidate's forward does, found by running it beside a stand-in.

`load_inline` returns a stand-in for the extension: its functions note how they
are called and return what can only be passed on. What forward does beside that
is seen by a TorchFunctionMode. If it is calls of the extension, views and
allocations, the same is written down as one C++ function, which the evaluator
judges without torch. Anything else needs torch beside the extension and is
refused here, with its name.

No expected output and no input that is judged is in this process: it gets a
seed of its own.
"""

import dataclasses
import dis
import sys
import types
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, resolve_name
from torch.utils import cpp_extension

from jaxkern.tasks.torch_child import arrays, constants, cxx, problem
from jaxkern.tasks.torch_child.problem import Unfit

_INPUT_SEED = 1
_SAME = {
  "contiguous",
  "cuda",
  "to",
  "float",
  "detach",
  "type",
  "requires_grad_",
}
_SAME |= {"__get__", "data", "half", "bfloat16", "double", "cpu"}
_FILLED = {"empty": None, "zeros": "0", "ones": "1", "full": None}
_READS = {"item", "tolist", "__bool__", "__float__", "__int__", "numpy"}
_READS |= {"__index__", "equal", "allclose", "any", "all"}


@dataclasses.dataclass
class Extension:
  """The C++ text of one call of load_inline."""

  cpp: list[str]
  cuda: list[str]
  bound: list[str]


class Symbol:
  """What an extension's function returned: to be passed on, or returned."""

  def __init__(self, tracer: "Tracer", text: str):
    """`text` is a C++ expression."""
    self._tracer, self._text = tracer, text

  def __getitem__(self, place):
    """An element of a tuple or vector of tensors."""
    if not isinstance(place, int):
      raise Unfit("unsupported", "forward slices what the extension returned")
    return self._tracer.element(self, place)

  def __iter__(self):
    """As many elements as the caller's assignment has targets."""
    frame = sys._getframe(1)
    for step in dis.get_instructions(frame.f_code):
      if step.offset == frame.f_lasti and step.opname == "UNPACK_SEQUENCE":
        return iter([self[k] for k in range(step.argval)])
    raise Unfit("unsupported", "forward goes over what the extension returned")

  def view(self, *sizes):
    """A view of what was returned, by the header's own view."""
    flat = (
      sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes
    )
    return self._tracer.define(f"{self._text}.reshape({cxx.sizes(flat)})")

  reshape = view

  def contiguous(self):
    """The header's, which refuses what is not."""
    return self._tracer.define(f"{self._text}.contiguous()")

  def __getattr__(self, name: str):
    """What else tensors have would need the result itself."""
    raise Unfit(
      "unsupported", f"forward uses .{name} of what the extension returned"
    )

  @classmethod
  def __torch_function__(cls, func, types, args=(), kwargs=None):
    """Operations of torch on it are work that the extension does not do."""
    raise Unfit(
      "unsupported",
      f"forward calls torch's {_name(func)} on what the extension returned",
    )


for _operator in ("add", "sub", "mul", "truediv", "matmul", "neg", "pow"):
  for _form in (f"__{_operator}__", f"__r{_operator}__"):

    def _refuse(self, *others, name=_operator):
      """Arithmetic is torch's."""
      raise Unfit(
        "unsupported",
        f"forward calls torch's {name} on what the extension returned",
      )

    setattr(Symbol, _form, _refuse)


class Tracer(TorchFunctionMode):
  """Follows one forward; `lines` are the C++ function's."""

  def __init__(self, extensions: dict[str, Extension]):
    """`extensions` are filled in as the candidate makes them."""
    super().__init__()
    self.extensions = extensions
    self.lines: list[str] = []
    self.known: dict[int, tuple[torch.Tensor, str]] = {}  # By id, kept alive.
    self.derived: set[int] = set()  # Of inputs: their contents change.
    self.constants: list[torch.Tensor] = []
    self.inputs: dict[str, int] = {}
    self.used: list[str] = []
    self.running = False

  def define(self, expression: str) -> Symbol:
    """A line that computes a new value."""
    name = f"jaxkern_t{len(self.lines)}"
    self.lines.append(f"auto {name} = {expression};")
    return Symbol(self, name)

  def element(self, symbol: Symbol, place: int) -> Symbol:
    """One of several results."""
    return self.define(f"jaxkern_element<{place}>({symbol._text})")

  def call(self, module: str, function: str, args: tuple) -> Symbol:
    """Notes a call of the extension."""
    if not self.running:
      raise Unfit(
        "unsupported", f"{function} is called before forward (in __init__)"
      )
    texts = ", ".join(self.text(a) for a in args)
    name = f"jaxkern_t{len(self.lines)}"
    self.lines.append(f"JAXKERN_RESULT({name}, {function}({texts}));")
    return Symbol(self, name)

  def text(self, value: Any) -> str:
    """A value as a C++ expression."""
    if isinstance(value, Symbol):
      return value._text
    if isinstance(value, torch.Tensor):
      return self._tensor(value)
    if value is None:
      return "{}"
    if isinstance(value, bool):
      return "true" if value else "false"
    if isinstance(value, int):
      return f"{value}LL" if abs(value) >= 1 << 31 else str(value)
    if isinstance(value, float):
      return cxx.real(value)
    if isinstance(value, str):
      return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, torch.dtype):
      return cxx.dtype(value)
    if isinstance(value, list | tuple):
      return "{" + ", ".join(map(self.text, value)) + "}"
    raise Unfit(
      "unsupported", f"forward passes a {type(value).__name__} to the extension"
    )

  def know(self, tensor: torch.Tensor, text: str) -> torch.Tensor:
    """The tensor is that expression from now on."""
    self.known[id(tensor)] = (tensor, text)
    return tensor

  def _tensor(self, tensor: torch.Tensor) -> str:
    if id(tensor) not in self.known:
      if not tensor.is_contiguous():
        raise Unfit("unsupported", "forward passes a constant with gaps")
      for name, constant in self._named():
        if cxx.alias(constant, tensor):
          text = name
          if constant.shape != tensor.shape:
            text = f"{name}.view({cxx.sizes(tensor.shape)})"
          self.know(tensor, text)
          break
      else:
        self.constants.append(tensor)
        self.know(tensor, f"w{len(self.constants) - 1}")
    text = self.known[id(tensor)][1]
    name = text.partition(".")[0]
    if name[0] in "xw" and name not in self.used:
      self.used.append(name)
    return text

  def _named(self):
    return ((f"w{i}", t) for i, t in enumerate(self.constants))

  def __torch_function__(self, func, types, args=(), kwargs=None):
    """Runs the function on real tensors and says what its result is."""
    kwargs = kwargs or {}
    name = _name(func)
    if name == "__get__":
      return self._property(func, args)
    if name in ("cuda", "pin_memory"):
      return args[0]
    args, kwargs = _on_cpu(name, args, kwargs)
    made = func(*args, **kwargs)
    if not self.running or name in (
      "size",
      "dim",
      "numel",
      "stride",
      "get_device",
    ):
      return made
    given = [a for a in _flat((args, kwargs)) if isinstance(a, torch.Tensor)]
    if any(id(t) in self.derived for t in given) and name in _READS:
      raise Unfit("unsupported", f"forward reads values of an input ({name})")
    if not isinstance(made, torch.Tensor):
      if any(isinstance(m, torch.Tensor) for m in _flat(made)):
        raise Unfit("unsupported", f"forward calls torch's {name}")
      return made
    return self._made(name, made, given, args, kwargs)

  def _property(self, func, args):
    """What the tensor would say on a GPU."""
    whose = getattr(func, "__self__", None)
    name = getattr(whose, "__name__", "")
    if name == "is_cuda":
      return True
    if name == "device":
      return torch.device("cuda", 0)
    made = func(*args)
    if not isinstance(made, torch.Tensor) or made is args[0]:
      return made
    if not self.running:
      return made
    return self._made(name, made, [args[0]], args, {})

  def _made(self, name, made, given, args, kwargs) -> torch.Tensor:
    for base in given:
      if made is base:
        if name.endswith("_") and name not in ("requires_grad_",):
          raise Unfit("unsupported", f"forward calls torch's {name}")
        return made
    factory = name.removeprefix("new_").removesuffix("_like")
    if factory in _FILLED and not name.endswith("_"):
      return self._allocated(factory, made, args, kwargs)
    for base in given:
      viewed = cxx.alias_text(base, made)
      if viewed is None:
        continue
      self.know(made, self._tensor(base) + viewed)
      if id(base) in self.derived:
        self.derived.add(id(made))
      return made
    raise Unfit("unsupported", f"forward calls torch's {name}")

  def _allocated(self, factory, made, args, kwargs) -> torch.Tensor:
    value = _FILLED[factory]
    if factory == "full":
      value = cxx.real(float(kwargs.get("fill_value", args[-1])))
    options = f"torch::dtype({cxx.dtype(made.dtype)}).device(torch::kCUDA)"
    filled = f", {value}" if factory == "full" else ""
    symbol = self.define(
      f"torch::{factory}({cxx.sizes(made.shape)}{filled}, {options})"
    )
    return self.know(made, symbol._text)


def _on_cpu(name: str, args, kwargs):
  """Devices of arguments are forgotten."""
  if name == "to":
    args = tuple(a for a in args if not isinstance(a, torch.device))
    args = tuple(a for a in args if not (isinstance(a, str) and "cuda" in a))
  return args, {k: v for k, v in kwargs.items() if k != "device"}


def _flat(value) -> list:
  if isinstance(value, list | tuple):
    return [v for item in value for v in _flat(item)]
  if isinstance(value, dict):
    return _flat(list(value.values()))
  return [value]


def _name(func) -> str:
  name = getattr(func, "__name__", "")
  return name or (resolve_name(func) or str(func)).rpartition(".")[2]


def _stand_in(tracer: Tracer) -> Any:
  """What takes load_inline's place."""

  def load_inline(
    name, cpp_sources="", cuda_sources="", functions=None, **options
  ):
    """Keeps the texts and returns a module of functions that note calls."""
    texts = [
      [s] if isinstance(s, str) else list(s or ())
      for s in (cpp_sources, cuda_sources)
    ]
    bound = list([functions] if isinstance(functions, str) else functions or ())
    tracer.extensions[name] = Extension(*texts, bound)
    module = types.SimpleNamespace()
    if not bound:
      raise Unfit("unsupported", "load_inline is given no functions")
    for function in bound:

      def note(*args, function=function, **kwargs):
        """A call of the extension."""
        if kwargs:
          raise Unfit(
            "unsupported", f"{function} is called with arguments by name"
          )
        return tracer.call(name, function, args)

      setattr(module, function, note)
    return module

  return load_inline


def _refused(*args, **kwargs):
  """`load` reads files, which candidates have none of."""
  raise Unfit("unsupported", "the extension is not made by load_inline")


def run(job: dict, directory) -> dict:
  """The job 'trace': the C++ text, its inputs by place, its constants."""
  tracer = Tracer({})
  cpp_extension.load_inline = _stand_in(tracer)
  cpp_extension.load = _refused
  torch.cuda.synchronize = lambda *a, **k: None
  torch.cuda.is_available = lambda: True
  names = problem.load(job["source"], job["sizes"])
  candidate = dict(names)
  candidate["__name__"] = "candidate"
  text = job["candidate"]
  with torch.no_grad():
    try:
      values = constants.matching(text, job["source"], job["sizes"])
      exec(constants.code(text, values, "candidate.py"), candidate)
    except SyntaxError as error:
      raise Unfit(
        "extract_error", f"line {error.lineno}: {error.msg}"
      ) from None
    except ImportError as error:
      raise Unfit("unsupported", f"needs {error.name or error}") from None
    if "ModelNew" not in candidate:
      raise Unfit("extract_error", "the candidate defines no ModelNew")
    made = {**names, "ModelNew": candidate["ModelNew"]}
    model = problem.make(made, "ModelNew", job["weight_seed"])
    returned = _follow(tracer, model, problem.inputs(names, _INPUT_SEED))
  if not tracer.lines or not tracer.extensions:
    raise Unfit("unsupported", "forward does not call an extension")
  return _result(tracer, returned, directory)


def _follow(tracer: Tracer, model, given: list) -> list[str]:
  """Runs forward; the expressions that it returns."""
  for i, value in enumerate(given):
    if isinstance(value, torch.Tensor):
      tracer.know(value, f"x{i}")
      tracer.derived.add(id(value))
  tracer.running = True
  with tracer:
    returned = model(*given)
  tracer.running = False
  flat = _flat(returned)
  return [tracer.text(value) for value in flat]


def _result(tracer: Tracer, returned: list[str], directory) -> dict:
  weights = {}
  for i, tensor in enumerate(tracer.constants):
    if f"w{i}" in tracer.used:
      weights[f"w{i}"] = arrays.save(directory, f"c{i}", tensor)
  order = [n for n in tracer.used if n[0] == "x"] + list(weights)
  return {
    "status": "ok",
    "text": cxx.unit(tracer.extensions.values(), order, tracer.lines, returned),
    "inputs": [int(n[1:]) for n in order if n[0] == "x"],
    "weights": weights,
    "cuda": [t for e in tracer.extensions.values() for t in e.cuda],
  }
