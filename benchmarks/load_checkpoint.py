"""Seconds and host memory that loading a checkpoint takes.

Makes a Hugging Face directory of random bfloat16 weights in a known shape, in
shards, and loads it in processes of their own: with the files in the page cache
and with the files dropped from it, in the dtype of the files and in float32.

Memory is sampled while loading, above what the process held before: `anonymous`
is what cannot be dropped, `resident` counts pages of the files, too, which the
system drops when it needs them. On a GPU the parameters are not in host memory;
on a CPU they are all of it (`parameters`).

  python benchmarks/load_checkpoint.py --shape=1.7B
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

import jax
import ml_dtypes
import numpy as np
import record
import safetensors.numpy

from jaxkern.models import architecture, checkpoints, tensors
from jaxkern.models import huggingface as files

# layers, width, hidden, heads, kv_heads, vocabulary: Qwen3's, the first a
# smaller one for small machines.
SHAPES = {
  "0.3B": (16, 768, 2304, 12, 6, 151936),
  "0.6B": (28, 1024, 3072, 16, 8, 151936),
  "1.7B": (28, 2048, 6144, 16, 8, 151936),
  "4B": (36, 2560, 9728, 32, 8, 151936),
}
SHARD_BYTES = 512 << 20


def config(shape: str) -> dict:
  """config.json of a shape."""
  layers, width, hidden, heads, kv_heads, vocabulary = SHAPES[shape]
  return {
    "model_type": "qwen3",
    "vocab_size": vocabulary,
    "hidden_size": width,
    "num_hidden_layers": layers,
    "num_attention_heads": heads,
    "num_key_value_heads": kv_heads,
    "head_dim": 128,
    "intermediate_size": hidden,
    "rms_norm_eps": 1e-6,
    "rope_theta": 1e6,
    "tie_word_embeddings": True,
    "max_position_embeddings": 32768,
  }


def make(directory: pathlib.Path, shape: str) -> int:
  """Writes the directory; returns its bytes of weights."""
  files.write_json(directory / "config.json", config(shape))
  rng = np.random.default_rng(0)
  shard, size, weight_map, total = {}, 0, {}, 0

  def finish() -> None:
    """Writes a shard and waits for the disk: only then can it be dropped."""
    file = f"model-{len(set(weight_map.values())) + 1:05}.safetensors"
    safetensors.numpy.save_file(shard, directory / file)
    weight_map.update(dict.fromkeys(shard, file))
    with open(directory / file) as opened:
      os.fsync(opened.fileno())

  for tensor in tensors.tensors(architecture.from_config(config(shape))):
    array = rng.standard_normal(tensor.shape, np.float32) / 50
    shard[tensor.huggingface] = array.astype(ml_dtypes.bfloat16)
    size += shard[tensor.huggingface].nbytes
    total += shard[tensor.huggingface].nbytes
    if size > SHARD_BYTES:
      finish()
      shard, size = {}, 0
  if shard:
    finish()
  index = {"weight_map": weight_map}
  files.write_json(directory / "model.safetensors.index.json", index)
  return total


def drop(directory: pathlib.Path) -> None:
  """Asks the system to forget the files' pages."""
  for path in directory.glob("*.safetensors"):
    with open(path) as opened:
      os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Watch(threading.Thread):
  """The most memory a process holds while a block runs."""

  def __init__(self) -> None:
    """Notes what it holds now."""
    super().__init__(daemon=True)
    self.before = self.peak = self._now()
    self._done = threading.Event()

  @staticmethod
  def _now() -> dict[str, int]:
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    fields = dict(line.split(":", 1) for line in lines)
    names = {"anonymous": "RssAnon", "resident": "VmRSS"}
    return {k: int(fields[v].split()[0]) << 10 for k, v in names.items()}

  def run(self) -> None:
    """Looks every two milliseconds."""
    while not self._done.wait(0.002):
      now = self._now()
      self.peak = {k: max(now[k], v) for k, v in self.peak.items()}

  def stop(self) -> dict[str, int]:
    """The peaks above what there was before, in bytes."""
    self._done.set()
    self.join()
    return {k: v - self.before[k] for k, v in self.peak.items()}


def load(directory: pathlib.Path, dtype: str) -> None:
  """In a process of its own: loads, prints one line of JSON."""
  jax.block_until_ready(jax.numpy.zeros(1) + 1)
  watch = Watch()
  watch.start()
  began = time.monotonic()
  checkpoint = checkpoints.load(directory, dtype)
  seconds = time.monotonic() - began
  peak = watch.stop()
  held = sum(leaf.nbytes for leaf in jax.tree.leaves(checkpoint.params))
  device = jax.devices()[0].device_kind
  print(
    json.dumps(
      {"seconds": seconds, "parameters": held, "device": device, **peak}
    )
  )


def measured(directory: pathlib.Path, dtype: str) -> dict:
  """What a process that loads has to say."""
  command = [sys.executable, __file__, f"--load={directory}"]
  done = subprocess.run(
    [*command, f"--dtype={dtype}"], stdout=subprocess.PIPE, check=True
  )
  return json.loads(done.stdout.decode().splitlines()[-1])


def main() -> None:
  """Writes the record."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--shape", choices=SHAPES, default="1.7B")
  parser.add_argument("--repeats", type=int, default=3)
  parser.add_argument("--out")
  parser.add_argument("--load", type=pathlib.Path, help="of a child process")
  parser.add_argument("--dtype", default="bfloat16", help="of a child process")
  arguments = parser.parse_args()
  if arguments.load:
    return load(arguments.load, arguments.dtype)
  samples = []
  with tempfile.TemporaryDirectory() as name:
    directory = pathlib.Path(name)
    stored = make(directory, arguments.shape)
    for dtype in ("bfloat16", "float32"):
      for cached in (True, False):
        for _ in range(arguments.repeats):
          if not cached:
            drop(directory)
          sample = {"dtype": dtype, "cached": cached}
          samples.append(sample | measured(directory, dtype))
          print(samples[-1], flush=True)
  out = arguments.out or (
    f"benchmarks/results/policies_load_{arguments.shape}.json"
  )
  record.write(
    out,
    {
      **record.environment(),
      "shape": arguments.shape,
      "stored_bytes": stored,
      "samples": samples,
    },
  )


if __name__ == "__main__":
  main()
