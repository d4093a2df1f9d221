"""The plain optimiser and the sharded one, on 1 to 8 devices of a CPU.

Prints a JSON list of differences; test_shards.py runs it in a process of its
own, as the number of devices is one of a process.
"""

import json
import os

os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = (
  "--xla_force_host_platform_device_count=8 --xla_backend_optimization_level=0"
)

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import optax  # noqa: E402

from jaxkern.learning import update as updates  # noqa: E402
from jaxkern.learning.batch import Batch, shard  # noqa: E402
from jaxkern.models.policy import Policy  # noqa: E402

CLIP = 0.05
STEPS = 4
ADAM = updates.make_optimizer(0.01, clip_norm=CLIP, weight_decay=0.5)
# Adam forgets how long a gradient is; this does not.
DESCENT = optax.chain(updates._clip(CLIP), optax.sgd(1.0, momentum=0.5))


def log_probs(params, prompts, prompt_mask, tokens, mask, trace, temperature):
  """A bigram model of 11 tokens, with a bias and a scale."""
  x = jnp.tanh(params["embed"][tokens] + params["bias"]).astype(jnp.float32)
  logits = params["scale"] * (x @ params["head"])
  every = jax.nn.log_softmax(logits.astype(jnp.float32))
  targets = jnp.roll(tokens, -1, axis=1)[..., None]
  return jnp.take_along_axis(every, targets, axis=-1)[..., 0] * mask


def whole(dtype):
  """Leaves of 77, 77, 7 and 1 numbers, which no number of devices divides."""
  rng = np.random.default_rng(1)
  shapes = {"embed": (11, 7), "head": (7, 11), "bias": (7,), "scale": ()}
  return {
    name: jnp.asarray(rng.normal(size=shape) * 0.5 + 0.5, dtype)
    for name, shape in shapes.items()
  }


def batch(rows=16):
  """Rows of uneven lengths."""
  rng = np.random.default_rng(0)
  tokens = rng.integers(0, 11, (rows, 5), dtype=np.int32)
  lengths = rng.integers(1, 6, rows)
  mask = (np.arange(5)[None, :] < lengths[:, None]).astype(np.float32)
  return Batch(tokens, np.ones_like(mask), tokens, mask)


def train(optimizer, state, devices, steps, shard_optimizer, microbatch=None):
  """The state after some steps, unreplicated, and the norms of gradients."""
  step = updates.make_update(
    Policy(None, None, log_probs),
    optimizer,
    updates.imitate,
    microbatch=microbatch,
  )
  state = updates.replicate(
    state, jax.devices()[:devices], shard_optimizer=shard_optimizer
  )
  parts = shard(batch(), devices, microbatch or 1)
  norms = []
  for _ in range(steps):
    state, metrics = step(state, parts)
    norms.append(float(metrics["grad_norm"]))
  copies = [
    np.ptp(np.asarray(x, np.float32), axis=0).max()
    for x in jax.tree.leaves(state.params)
  ]
  assert not any(copies), "devices hold different parameters"
  return updates.unreplicate(state), norms


def difference(a, b):
  """The greatest between leaves."""
  assert jax.tree.structure(a) == jax.tree.structure(b)
  pairs = zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True)
  found = []
  for x, y in pairs:
    assert x.shape == y.shape and x.dtype == y.dtype
    found.append(np.max(np.abs(np.float64(x) - np.float64(y))))
  return float(max(found))


def main():
  """Every comparison."""
  rows = []
  for dtype in (jnp.float32, jnp.bfloat16):
    for name, optimizer in (("adam", ADAM), ("descent", DESCENT)):
      first = updates.init_state(whole(dtype), optimizer)
      plain, norms = train(optimizer, first, 1, STEPS, False)
      for devices in (2, 4, 8):
        for microbatch in (None, 2) if dtype == jnp.float32 else (2,):
          got, found = train(optimizer, first, devices, STEPS, True, microbatch)
          rows.append(
            dict(
              what=f"{name} of {np.dtype(dtype)} on {devices}, {microbatch}",
              dtype=str(np.dtype(dtype)),
              difference=difference(got, plain),
              norms=difference(np.array(found), np.array(norms)),
              moved=difference(plain.params, first.params),
              least_norm=min(norms),
            )
          )
  first = updates.init_state(whole(jnp.float32), ADAM)
  plain, norms = train(ADAM, first, 1, STEPS, False)
  for before, after in ((8, 2), (2, 8), (4, 1)):
    middle, _ = train(ADAM, first, before, 2, True)
    got, _ = train(ADAM, middle, after, STEPS - 2, after > 1)
    rows.append(
      dict(
        what=f"begun on {before}, continued on {after}",
        dtype="float32",
        difference=difference(got, plain),
        norms=0.0,
        moved=difference(plain.params, first.params),
        least_norm=min(norms),
      )
    )
  print(json.dumps(rows))


if __name__ == "__main__":
  main()
