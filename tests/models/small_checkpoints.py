"""Small checkpoints of every family, with random weights that never change."""

import json
import pathlib

import ml_dtypes  # noqa: F401
import numpy as np
import safetensors.numpy

from jaxkern.models import architecture, tensors

SIZES = {
  "vocab_size": 48,
  "hidden_size": 32,
  "num_hidden_layers": 2,
  "num_attention_heads": 4,
  "num_key_value_heads": 2,
  "intermediate_size": 40,
  "hidden_act": "silu",
  "max_position_embeddings": 64,
  "tie_word_embeddings": False,
  "rms_norm_eps": 1e-5,
  "rope_theta": 1e4,
}
LLAMA3 = {
  "rope_type": "llama3",
  "factor": 8.0,
  "low_freq_factor": 1.0,
  "high_freq_factor": 4.0,
  "original_max_position_embeddings": 16,
}
YARN = {
  "rope_type": "yarn",
  "factor": 4.0,
  "original_max_position_embeddings": 16,
  # So that some pairs turn fast enough to be left alone.
  "beta_fast": 2.0,
}
# By name: changes to SIZES.
FAMILIES = {
  "llama": {"model_type": "llama"},
  "llama_wide_heads": {"model_type": "llama", "head_dim": 12},
  "llama_linear": {
    "model_type": "llama",
    "rope_scaling": {"type": "linear", "factor": 2.5},
  },
  "llama3": {"model_type": "llama", "rope_scaling": LLAMA3, "head_dim": 16},
  "smollm2": {
    "model_type": "llama",
    "tie_word_embeddings": True,
    "rope_theta": 1e5,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "hidden_size": 24,
  },
  "qwen2": {
    "model_type": "qwen2",
    "rms_norm_eps": 1e-6,
    "use_sliding_window": False,
    "sliding_window": 8,
    "rope_theta": 1e6,
  },
  "qwen3": {"model_type": "qwen3", "head_dim": 16, "rms_norm_eps": 1e-6},
  "qwen3_yarn": {
    "model_type": "qwen3",
    "head_dim": 16,
    "rope_scaling": YARN,
    "tie_word_embeddings": True,
  },
  "sdar": {"model_type": "sdar", "head_dim": 16, "rms_norm_eps": 1e-6},
}
TOKENS = np.random.default_rng(7).integers(2, 48, (2, 40))
PROMPT = 6  # Tokens of the first row that the greedy continuation is given.
NEW = 12
BLOCK = 4  # Tokens that the denoiser sees at once.


def config(family: str) -> dict:
  return SIZES | FAMILIES[family]


def weights(family: str) -> dict[str, np.ndarray]:
  """By their names in Hugging Face files, float32."""
  shape = architecture.from_config(config(family))
  rng = np.random.default_rng(sum(map(ord, family)))
  arrays = {}
  for tensor in tensors.tensors(shape):
    array = rng.standard_normal(tensor.shape)
    # Norms near 1, and logits large enough to tell models apart.
    array = 1 + array / 4 if "norm" in tensor.huggingface else array / 4
    arrays[tensor.huggingface] = array.astype(np.float32)
  return arrays


def write(
  directory: pathlib.Path, family: str, shards: int = 1, dtype: str = "float32"
) -> pathlib.Path:
  """A Hugging Face directory."""
  directory.mkdir(parents=True, exist_ok=True)
  (directory / "config.json").write_text(json.dumps(config(family)))
  arrays = {n: a.astype(dtype) for n, a in weights(family).items()}
  names = sorted(arrays)
  if shards == 1:
    safetensors.numpy.save_file(arrays, directory / "model.safetensors")
    return directory
  index = {}
  for i in range(shards):
    file = f"model-{i + 1:05}-of-{shards:05}.safetensors"
    part = {name: arrays[name] for name in names[i::shards]}
    safetensors.numpy.save_file(part, directory / file)
    index |= dict.fromkeys(part, file)
  text = json.dumps({"weight_map": index})
  (directory / "model.safetensors.index.json").write_text(text)
  return directory


def block_mask(length: int) -> np.ndarray:
  """Bool [length, length]: a block sees itself and those before."""
  block = np.arange(length) // BLOCK
  return block[None, :] <= block[:, None]
