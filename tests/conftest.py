"""Strict JAX for every test: two CPU devices, no silent rank promotion.

JAXKERN_TEST_GPU=1 leaves the choice of platform to JAX.
"""

import importlib.metadata
import os

# Tests compile more than they run: unoptimised code halves the whole, and one
# piece of it per program, not fused, halves it again. jaxlib 0.11 knows no
# other emitters.
_FLAGS = [
  "--xla_force_host_platform_device_count=2",
  "--xla_backend_optimization_level=0",
  "--xla_cpu_parallel_codegen_split_count=1",
]
if importlib.metadata.version("jaxlib").startswith("0.10."):
  _FLAGS.append("--xla_cpu_use_fusion_emitters=false")
os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), *_FLAGS])
if not os.environ.get("JAXKERN_TEST_GPU"):
  os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402

jax.config.update("jax_numpy_rank_promotion", "raise")
