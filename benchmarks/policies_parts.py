"""What `policies_decode.py` runs in processes of their own; prints JSON."""

import argparse
import functools
import importlib.metadata
import itertools
import json
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxkern.learning import update as updates
from jaxkern.learning.batch import Batch
from jaxkern.models import autoregressive, block_diffusion, plan, transformer
from jaxkern.models.architecture import Architecture
from jaxkern.models.policy import Policy

# layers, width, hidden, heads, kv_heads, head width, vocabulary: Qwen3's, the
# first for machines without a GPU.
SHAPES = {
  "tiny": (2, 64, 96, 4, 2, 16, 512),
  "0.6B": (28, 1024, 3072, 16, 8, 128, 151936),
  "1.7B": (28, 2048, 6144, 16, 8, 128, 151936),
  "4B": (36, 2560, 9728, 32, 8, 128, 151936),
}


def architecture(shape: str) -> Architecture:
  """Qwen3 in a shape, its head tied."""
  layers, width, hidden, heads, kv_heads, head_width, vocabulary = SHAPES[shape]
  return Architecture(
    family="qwen3",
    vocab_size=vocabulary,
    width=width,
    layers=layers,
    heads=heads,
    kv_heads=kv_heads,
    head_width=head_width,
    hidden=hidden,
    rope_base=1e6,
    rope_scaling=None,
    norm_epsilon=1e-6,
    qk_norm=True,
    qkv_bias=False,
    tied=True,
    max_positions=32768,
  )


def add_arguments(parser: argparse.ArgumentParser) -> None:
  """What all parts know."""
  parser.add_argument("--shape", choices=SHAPES, default="1.7B")
  parser.add_argument("--batches", default="1,16,64,256")
  parser.add_argument("--attention", default="auto,fused", help="of sampling")
  parser.add_argument("--prompt", type=int, default=64, help="tokens")
  parser.add_argument("--new", type=int, default=256, help="tokens")
  parser.add_argument("--repeats", type=int, default=3)
  parser.add_argument("--rows", type=int, default=8, help="of an update")
  parser.add_argument("--length", type=int, default=2048, help="of its rows")
  parser.add_argument("--remat", type=int, default=0, help="in an update")
  parser.add_argument("--peak", type=float, default=989e12, help="operations/s")


def step_bytes(shape: str, batch: int, prompt: int, new: int) -> float:
  """What a step reads at least, in bfloat16, on average over all steps."""
  a = architecture(shape)
  filled = prompt + new / 2
  cache = 2 * a.layers * a.kv_heads * a.head_width * filled
  return 2 * (plan.parameters(a) + batch * cache)


def timed(repeats: int, call: Callable[[int], object]) -> tuple[float, list]:
  """Seconds of a first call, and of more."""
  seconds = []
  for i in range(repeats + 1):
    began = time.monotonic()
    jax.block_until_ready(call(i))
    seconds.append(time.monotonic() - began)
  return seconds[0], seconds[1:]


def say(**sample: object) -> None:
  """A sample, at once."""
  print(json.dumps(sample), flush=True)


def bandwidth(arguments: argparse.Namespace) -> None:
  """Copies a buffer much larger than caches."""
  size = 1 << 31 if jax.default_backend() == "gpu" else 1 << 26
  source = jnp.zeros(size // 4, jnp.float32)
  copy = jax.jit(lambda x, y: x + y)
  calls = 20
  _, seconds = timed(
    max(5, arguments.repeats),
    lambda _: [copy(source, float(i)) for i in range(calls)][-1],
  )
  say(
    bytes_per_s=2 * size * calls / min(seconds),
    seconds=seconds,
    device=jax.devices()[0].device_kind,
  )


@functools.cache
def random_params(shape: str) -> Any:
  """Parameters in bfloat16."""

  def made(key):
    """As they are before training."""
    model = transformer.build(architecture(shape))
    tokens = jnp.zeros((1, 2), jnp.int32)
    params = model.init(key, tokens, method="initialise")
    return jax.tree.map(lambda x: x.astype(jnp.bfloat16), params)

  return jax.jit(made)(jax.random.key(0))


def callers(
  arguments: argparse.Namespace, **kinds: Callable[..., Policy]
) -> Iterator[tuple[dict, Callable]]:
  """For every batch, kind of policy and of attention: what draws it."""
  params = random_params(arguments.shape)
  vocabulary = SHAPES[arguments.shape][-1]
  for batch in map(int, arguments.batches.split(",")):
    prompts = jax.random.randint(
      jax.random.key(1), (batch, arguments.prompt), 0, vocabulary
    )
    rest = prompts, jnp.ones(prompts.shape, jnp.float32), 1.0
    for name, attention in itertools.product(
      kinds, arguments.attention.split(",")
    ):
      if attention == "fused" and jax.default_backend() != "gpu":
        continue
      policy = kinds[name](
        architecture(arguments.shape),
        max_new_tokens=arguments.new,
        end_id=(),
        pad_id=0,
        attention=attention,
        dtype=jnp.bfloat16,
      )
      yield (
        {"kind": name, "attention": attention, "batch": batch},
        lambda i, policy=policy, rest=rest: policy.sample(
          params, jax.random.key(i), *rest
        ),
      )


def measured(arguments: argparse.Namespace, **kinds: Callable) -> None:
  """Whole calls of `sample`."""
  for what, draw in callers(arguments, **kinds):
    first, seconds = timed(arguments.repeats, draw)
    say(
      **what,
      tokens=what["batch"] * arguments.new,
      seconds=seconds,
      first_s=first,
      peak_bytes=peak_bytes(),
    )


def sampling(arguments: argparse.Namespace) -> None:
  """A token at a time."""
  measured(arguments, autoregressive=autoregressive.from_architecture)


def diffusion(arguments: argparse.Namespace) -> None:
  """Blocks of 4 in as many steps as they have tokens, in 2 and in 1."""
  mask_id = SHAPES[arguments.shape][-1] - 1
  measured(
    arguments,
    **{
      f"blocks of 4, {steps} steps": functools.partial(
        block_diffusion.from_architecture,
        mask_id=mask_id,
        steps=steps,
        threshold=None,
      )
      for steps in (4, 2, 1)
    },
  )


def profile(arguments: argparse.Namespace) -> None:
  """On what a GPU spends a call of `sample`: its longest kernels, in all."""
  kind = autoregressive.from_architecture
  for what, draw in callers(arguments, autoregressive=kind):
    jax.block_until_ready(draw(0))
    with tempfile.TemporaryDirectory() as directory:
      began = time.monotonic()
      with jax.profiler.trace(directory):
        jax.block_until_ready(draw(1))
      seconds = time.monotonic() - began
      [path] = pathlib.Path(directory).rglob("*.xplane.pb")
      kernels = busiest(jax.profiler.ProfileData.from_file(str(path)))
    say(**what, steps=arguments.new, profiled_s=seconds, kernels=kernels)


def busiest(data: jax.profiler.ProfileData) -> list[tuple[str, int, float]]:
  """Names of kernels, how many there were and their seconds together."""
  total: dict[str, list] = {}
  for plane in data.planes:
    if "GPU" not in plane.name:
      continue
    for line in plane.lines:
      if "Stream" in line.name:
        for event in line.events:
          entry = total.setdefault(event.name, [0, 0.0])
          entry[0] += 1
          entry[1] += event.duration_ns / 1e9
  longest = sorted(total.items(), key=lambda item: -item[1][1])[:40]
  return [(name, *entry) for name, entry in longest]


def peak_bytes() -> int | None:
  """The most of the device's memory that was in use."""
  stats = jax.local_devices()[0].memory_stats() or {}
  return stats.get("peak_bytes_in_use")


def training(arguments: argparse.Namespace) -> None:
  """Whole updates of parameters in float32, on one device."""
  shape = architecture(arguments.shape)
  policy = autoregressive.from_architecture(
    shape,
    max_new_tokens=1,
    end_id=(),
    pad_id=0,
    remat=bool(arguments.remat),
    dtype=jnp.bfloat16,
  )
  optimizer = updates.make_optimizer(1e-6, clip_norm=1.0)
  update = updates.make_update(policy, optimizer, updates.imitate)
  rows, length = arguments.rows, arguments.length
  prompt = length // 8
  ids = np.random.default_rng(0).integers(
    0, shape.vocab_size, (1, rows, length), np.int32
  )
  ones = np.ones(ids.shape, np.float32)
  batch = Batch(
    ids[..., :prompt], ones[..., :prompt], ids[..., prompt:], ones[..., prompt:]
  )
  params = policy.init(jax.random.key(0))
  opt_state = jax.jit(optimizer.init)(params)
  state = updates.State(params, opt_state, jnp.zeros((), jnp.int32))
  # As `updates.replicate` places it, but not by way of the host.
  mesh = jax.sharding.Mesh(jax.local_devices(), ("devices",))
  place = jax.NamedSharding(mesh, jax.P("devices"))
  state = jax.tree.map(lambda x: jax.device_put(x[None], place), state)

  def step(_):
    """An update; the state it is given is used up."""
    nonlocal state
    state, metrics = update(state, batch)
    return metrics

  first, seconds = timed(arguments.repeats, step)
  operations = plan.training_operations(shape, rows, length)
  say(
    rows=rows,
    length=length,
    remat=arguments.remat,
    tokens=rows * length,
    seconds=seconds,
    first_s=first,
    tokens_per_s=rows * length / min(seconds),
    operations=operations,
    utilisation=operations / min(seconds) / arguments.peak,
    peak_bytes=peak_bytes(),
    jax=importlib.metadata.version("jax"),
  )


def main() -> None:
  """Runs one part."""
  parser = argparse.ArgumentParser()
  parser.add_argument("--part", required=True)
  add_arguments(parser)
  arguments = parser.parse_args()
  {
    "bandwidth": bandwidth,
    "autoregressive": sampling,
    "block_diffusion": diffusion,
    "profile": profile,
    "training": training,
  }[arguments.part](arguments)


if __name__ == "__main__":
  main()
