"""Every operation of the suite a second time, written without jax.

A module per file of jaxkern/tasks/families; a public function per operation,
which takes the inputs and attributes that it names, floats in float64, and
returns the outputs in order. Where there are two ways to say a thing these take
the other one: loops for array operations, complex steps for gradients, scipy
for what it knows.
"""

import importlib
import inspect
import pkgutil


def all_checks() -> dict:
  """The functions by operation."""
  found = {}
  for module in pkgutil.iter_modules(__path__):
    if module.name == "complex_step":
      continue
    text = importlib.import_module(f"{__name__}.{module.name}")
    for name, value in vars(text).items():
      if inspect.isfunction(value) and value.__module__ == text.__name__:
        if not name.startswith("_"):
          assert name not in found, name
          found[name] = value
  return found
