import json
import pathlib
import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from jaxkern.learning import shards
from jaxkern.learning import update as updates
from jaxkern.learning.batch import Batch, shard
from jaxkern.models.policy import Policy
from jaxkern.training import memory


@pytest.fixture(scope="module")
def differences():
  """What eight_devices.py prints."""
  script = pathlib.Path(__file__).with_name("eight_devices.py")
  done = subprocess.run(
    [sys.executable, str(script)], capture_output=True, text=True, timeout=300
  )
  assert done.returncode == 0, done.stderr
  return json.loads(done.stdout)


def test_shards_of_2_4_and_8_devices_are_the_plain_optimiser(differences):
  """With clipping and decay, on leaves that no number of devices divides."""
  rows = [row for row in differences if row["dtype"] == "float32"]
  assert len(rows) == 15  # 2 optimisers, 3 numbers, 2 microbatches; 3 resumed.
  for row in rows:
    assert row["least_norm"] > 0.2, row  # The clip is at 0.05.
    assert row["moved"] > 0.05, row
    assert row["difference"] < 1e-6, row
    assert row["norms"] < 1e-6, row


def test_bfloat16_parameters_differ_by_their_rounding(differences):
  rows = [row for row in differences if row["dtype"] == "bfloat16"]
  assert len(rows) == 6
  for row in rows:
    assert row["moved"] > 0.06, row
    assert row["difference"] < 0.016, row  # Two roundings of 1 to 2.
    assert row["norms"] < 0.003, row


@pytest.mark.parametrize("devices", [1, 2, 3, 8])
@pytest.mark.parametrize("shape", [(), (1,), (7,), (5, 3), (2, 3, 4), (0, 2)])
def test_joined_parts_are_the_whole(devices, shape):
  size = int(np.prod(shape))
  tree = {"a": np.arange(1, size + 1, dtype=np.float32).reshape(shape)}
  parts = shards.split(tree, devices)
  leaf = parts.tree["a"]
  assert leaf.shape[0] == devices
  assert leaf.ndim == 1 + len(shape), "a part has the rank of the whole"
  if shape:
    assert leaf.size < size + devices
  np.testing.assert_array_equal(shards.join(parts)["a"], tree["a"])
  assert shards.join(parts)["a"].shape == shape


@pytest.mark.parametrize("limit", [0.5, 50.0])
def test_clipping_is_optaxs(limit):
  grads = {"a": jnp.array([3.0, -4.0]), "b": jnp.array([[12.0]])}
  ours = updates._clip(limit)
  got, _ = ours.update(grads, ours.init(grads), norm=optax.tree.norm(grads))
  theirs = optax.clip_by_global_norm(limit)
  expected, _ = theirs.update(grads, theirs.init(grads))
  jax.tree.map(np.testing.assert_array_equal, got, expected)


def test_the_memory_plan_counts_a_part_of_the_optimisers_state():
  """Adam's 8 bytes a parameter, or 4 on each of two devices."""
  optimizer = updates.make_optimizer(0.1, clip_norm=1.0)
  policy = Policy(
    None, None, lambda params, _p, _m, tokens, *_: params["w"][tokens]
  )
  update = updates.make_update(policy, optimizer, updates.imitate)
  first = updates.init_state({"w": jnp.zeros(10_001)}, optimizer)
  ones = np.ones((2, 3), np.int32)
  rows = shard(Batch(ones, ones * 1.0, ones, np.ones((2, 3), np.float32)), 2)
  plain, sharded = (
    memory.need(
      update,
      updates.replicate(first, jax.devices()[:2], shard_optimizer=on),
      rows,
    ).arguments
    for on in (False, True)
  )
  assert plain - sharded == 8 * (10_001 - 5_001)
