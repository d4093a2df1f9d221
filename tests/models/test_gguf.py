import functools
import pathlib

import gguf
import jax
import numpy as np
import pytest
import small_checkpoints as small
import small_gguf
from gguf import GGMLQuantizationType as Kind

from jaxkern.models import architecture, checkpoints, rope, tensors, transformer

EXPECTED = np.load(pathlib.Path(__file__).parent / "parity.npz")
# One block of K kinds has 256 elements.
WIDE = small.config("qwen2") | {
  "hidden_size": 256,
  "intermediate_size": 256,
  "num_hidden_layers": 1,
}


@functools.cache
def wide_weights():
  rng = np.random.default_rng(3)
  shape = architecture.from_config(WIDE)
  return {
    tensor.huggingface: rng.standard_normal(tensor.shape, np.float32)
    for tensor in tensors.tensors(shape)
  }


def gate(checkpoint) -> np.ndarray:
  return np.asarray(checkpoint.params["params"]["blocks_0"]["gate"]["kernel"]).T


@pytest.mark.parametrize(
  "family",
  ["llama", "llama_wide_heads", "llama_linear", "smollm2", "qwen2", "qwen3"]
  + ["qwen3_yarn"],
)
def test_a_file_is_read_as_the_directory_it_was_made_from(tmp_path, family):
  path = small_gguf.write_family(tmp_path / "model.gguf", family)
  shape, params, text = checkpoints.load(path)
  expected = checkpoints.load(small.write(tmp_path / "hf", family))
  assert text is None
  assert shape._replace(rope_scaling=None, norm_epsilon=0) == (
    expected.architecture._replace(rope_scaling=None, norm_epsilon=0)
  )
  np.testing.assert_allclose(
    shape.norm_epsilon, expected.architecture.norm_epsilon, rtol=1e-6
  )
  # Numbers of the metadata are float32.
  np.testing.assert_allclose(
    shape.rope_scaling or (), expected.architecture.rope_scaling or ()
  )
  jax.tree.map(np.testing.assert_array_equal, params, expected.params)


def test_llamas_permuted_heads_give_the_logits_of_transformers(tmp_path):
  path = small_gguf.write_family(tmp_path / "model.gguf", "llama")
  shape, params, _ = checkpoints.load(path)
  model = transformer.build(shape)
  length = small.TOKENS.shape[1]
  mask = np.broadcast_to(np.tril(np.ones((length, length), bool)), (2, 40, 40))
  positions = np.broadcast_to(np.arange(length), small.TOKENS.shape)
  states, _ = jax.jit(model.apply)(params, small.TOKENS, positions, mask)
  got = model.apply(params, states, method="logits")
  np.testing.assert_allclose(got, EXPECTED["llama/logits"], atol=1e-4)


@pytest.mark.parametrize(
  ("kind", "error"),
  # The error is at most half a step, steps are a block's largest over half the
  # levels, or for Q4_1 its range over 15.
  [
    (Kind.F16, 2**-11 * 4),
    (Kind.BF16, 2**-8 * 4),
    (Kind.Q8_0, 0.5 * 5 / 127),
    (Kind.Q4_0, 1.0 * 5 / 8),
    (Kind.Q4_1, 0.5 * 10 / 15),
  ],
)
def test_quantised_weights_are_near_those_they_were_made_from(
  tmp_path, kind, error
):
  weights = wide_weights()
  path = small_gguf.write(tmp_path / "model.gguf", WIDE, weights, kind)
  got = gate(checkpoints.load(path))
  off = np.abs(got - weights["model.layers.0.mlp.gate_proj.weight"])
  assert 0 < off.max() < error


def q4_k(block: np.ndarray) -> np.ndarray:
  """256 values of 144 bytes, one at a time."""
  d, dmin = block[:4].view(np.float16).astype(np.float32)
  packed, quants = block[4:16].astype(int), block[16:].astype(int)
  values = []
  for i in range(8):
    if i < 4:
      scale, low = packed[i] & 63, packed[i + 4] & 63
    else:
      scale = (packed[i + 4] & 15) | (packed[i - 4] >> 6 << 4)
      low = (packed[i + 4] >> 4) | (packed[i] >> 6 << 4)
    for q in quants[i // 2 * 32 : i // 2 * 32 + 32]:
      values.append(d * scale * (q >> 4 if i % 2 else q & 15) - dmin * low)
  return np.array(values)


def q6_k(block: np.ndarray) -> np.ndarray:
  """256 values of 210 bytes, one at a time."""
  low, high = block[:128].astype(int), block[128:192].astype(int)
  scales = block[192:208].view(np.int8)
  d = float(block[208:].view(np.float16)[0])
  values = []
  for i in range(256):
    half, quarter, j = i // 128, i % 128 // 32, i % 32
    nibble = low[half * 64 + quarter % 2 * 32 + j] >> quarter // 2 * 4 & 15
    q = nibble | (high[half * 32 + j] >> 2 * quarter & 3) << 4
    values.append(d * float(scales[i // 16]) * (q - 32))
  return np.array(values)


@pytest.mark.parametrize(
  ("kind", "size", "scales", "one"),
  [(Kind.Q4_K, 144, (0, 4), q4_k), (Kind.Q6_K, 210, (208, 210), q6_k)],
)
def test_k_kinds_are_what_their_layout_says(tmp_path, kind, size, scales, one):
  rng = np.random.default_rng(0)
  arrays = {}
  for name, array in wide_weights().items():
    if array.ndim > 1:
      blocks = rng.integers(0, 256, (array.size // 256, size), np.uint8)
      number = np.arange(1, (scales[1] - scales[0]) // 2 + 1) / 64
      blocks[:, slice(*scales)] = number.astype(np.float16).view(np.uint8)
      array = blocks.reshape(len(array), -1)
    arrays[name] = array
  path = small_gguf.write(tmp_path / "model.gguf", WIDE, arrays, kind)
  got = gate(checkpoints.load(path))
  rows = arrays["model.layers.0.mlp.gate_proj.weight"]
  for i in (0, 7):
    np.testing.assert_allclose(got[i], one(rows[i]), rtol=1e-5, atol=1e-5)


def test_pieces_that_are_dequantised_apart_fit_together(tmp_path, monkeypatch):
  path = small_gguf.write(
    tmp_path / "model.gguf", WIDE, wide_weights(), Kind.Q8_0
  )
  expected = checkpoints.load(path)
  monkeypatch.setattr("jaxkern.models.gguf_file._PIECE", 5 * 256)
  got = checkpoints.load(path)
  jax.tree.map(np.testing.assert_array_equal, got.params, expected.params)


def test_llama3s_divisors_are_recognised(tmp_path):
  scaling = rope.Llama3(32.0, 1.0, 4.0, 8192)
  config = small.config("llama") | {"rope_theta": 5e5}
  plain = 5e5 ** (-np.arange(4) / 4)
  divisors = rope.llama3_divisors(plain, scaling).astype(np.float32)

  def add(changed):
    return lambda writer: writer.add_tensor("rope_freqs.weight", changed)

  weights = small.weights("llama")
  path = small_gguf.write(
    tmp_path / "model.gguf", config, weights, extra=add(divisors)
  )
  assert checkpoints.load(path).architecture.rope_scaling == scaling
  assert divisors.max() == 32
  divisors[2] *= 1.5
  path = small_gguf.write(
    tmp_path / "other.gguf", config, weights, extra=add(divisors)
  )
  with pytest.raises(
    ValueError, match="rope_freqs.weight: expected Llama 3's divisors, got"
  ):
    checkpoints.describe(path)


@pytest.mark.parametrize(
  ("family", "extra", "message"),
  [
    (
      "llama",
      lambda w: w.add_uint32("llama.expert_count", 8),
      "llama.expert_count: expected none, got 8",
    ),
    (
      "qwen2",
      lambda w: w.add_uint32("qwen2.attention.sliding_window", 4),
      "qwen2.attention.sliding_window: expected none, got 4",
    ),
    (
      "llama",
      lambda w: w.add_tensor("blk.0.attn_q.bias", np.zeros(32, np.float32)),
      r"blk.0.attn_q.bias: expected no such tensor in a llama model, got \(32,",
    ),
    (
      "llama",
      lambda w: w.add_tensor("blk.9.x", np.zeros(32, np.int32)),
      "blk.9.x: expected F32 or F16 or .*, got I32",
    ),
  ],
)
def test_what_the_decoder_cannot_do_is_refused(
  tmp_path, family, extra, message
):
  path = tmp_path / "model.gguf"
  small_gguf.write_family(path, family, extra=extra)
  with pytest.raises(ValueError, match=f"^{path}: {message}"):
    checkpoints.load(path)


def test_another_architecture_is_refused(tmp_path):
  path = tmp_path / "model.gguf"
  writer = gguf.GGUFWriter(path, "gemma2")
  writer.write_header_to_file()
  writer.write_kv_data_to_file()
  writer.close()
  with pytest.raises(
    ValueError,
    match="general.architecture: expected llama or qwen2 or qwen3, got gemma2",
  ):
    checkpoints.load(path)


@pytest.mark.parametrize(
  ("share", "message"),
  [
    (0.9, r"blk.1.\S+: expected at least \d+ bytes, got \d+"),
    (0.02, r"expected at least \d+ bytes, got \d+"),
  ],
)
def test_a_file_that_is_cut_off_is_refused(tmp_path, share, message):
  path = small_gguf.write_family(tmp_path / "model.gguf", "qwen3")
  data = path.read_bytes()
  path.write_bytes(data[: int(share * len(data))])
  with pytest.raises(
    ValueError, match=f"^{path}: expected a GGUF file: {message}$"
  ):
    checkpoints.load(path)


def test_another_kind_of_file_is_refused(tmp_path):
  path = tmp_path / "model.gguf"
  path.write_bytes(b"PK" + bytes(100))
  with pytest.raises(ValueError, match=f"^{path}: expected a GGUF file: "):
    checkpoints.load(path)
