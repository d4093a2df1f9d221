import jax
import jax.numpy as jnp
import pytest
import small_checkpoints as small

from jaxkern.models import plan, transformer
from jaxkern.models.architecture import from_config


@pytest.mark.parametrize("family", small.FAMILIES)
def test_parameters_are_those_of_the_decoder(family):
  architecture = from_config(small.config(family))
  model = transformer.build(architecture)
  params = jax.eval_shape(
    lambda: model.init(
      jax.random.key(0), jnp.zeros((1, 2), jnp.int32), method="initialise"
    )
  )
  count = sum(x.size for x in jax.tree.leaves(params))
  if architecture.qkv_bias:  # Initialised with zeros, but there.
    assert count > plan.parameters(architecture._replace(qkv_bias=False))
  assert plan.parameters(architecture) == count


def test_operations_are_six_per_matrix_entry_and_token_and_attention():
  architecture = from_config(small.config("llama"))
  # By hand: 2 blocks of q, k, v, o and SwiGLU, and the head; 7 tokens see 4.
  matrices = 2 * (32 * 32 + 2 * 32 * 16 + 32 * 32 + 3 * 32 * 40) + 48 * 32
  seen = 2 * 2 * 32 * 4
  expected = 6 * 3 * 7 * (matrices + seen)
  assert plan.training_operations(architecture, 3, 7) == expected
