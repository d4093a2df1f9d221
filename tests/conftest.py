"""Strict JAX for every test: two CPU devices, no silent rank promotion.

JAXKERN_TEST_GPU=1 leaves the choice of platform to JAX.
"""

import os

# Tests compile more than they run: unoptimised code halves the whole.
os.environ["XLA_FLAGS"] = " ".join(
  [
    os.environ.get("XLA_FLAGS", ""),
    "--xla_force_host_platform_device_count=2",
    "--xla_backend_optimization_level=0",
  ]
)
if not os.environ.get("JAXKERN_TEST_GPU"):
  os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402

jax.config.update("jax_numpy_rank_promotion", "raise")
