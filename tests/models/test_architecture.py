import json

import numpy as np
import pytest
import small_checkpoints as small

from jaxkern.models import architecture, rope
from jaxkern.models.architecture import from_config, to_config


def test_a_config_is_read_by_name():
  got = from_config(small.config("qwen3"))
  assert got == architecture.Architecture(
    family="qwen3", vocab_size=48, width=32, layers=2, heads=4, kv_heads=2,
    head_width=16, hidden=40, rope_base=1e4, rope_scaling=None,
    norm_epsilon=1e-6, qk_norm=True, qkv_bias=False, tied=False,
    max_positions=64,
  )  # fmt: skip


def test_what_a_config_leaves_out_follows_from_the_rest():
  config = small.config("llama")
  del config["num_key_value_heads"], config["rope_theta"]
  got = from_config(config | {"head_dim": None})
  assert (got.kv_heads, got.head_width, got.rope_base) == (4, 8, 1e4)
  config = small.config("qwen3")
  del config["head_dim"]
  assert from_config(config).head_width == 128


@pytest.mark.parametrize("family", small.FAMILIES)
def test_a_config_survives_writing_and_reading(family):
  expected = from_config(small.config(family))
  written = json.loads(json.dumps(to_config(expected)))
  assert from_config(written) == expected


def test_rope_is_found_where_newer_releases_put_it():
  config = small.config("llama")
  del config["rope_theta"]
  config["rope_parameters"] = small.LLAMA3 | {"rope_theta": 7e4}
  got = from_config(config)
  assert got.rope_base == 7e4
  assert got.rope_scaling == rope.Llama3(8.0, 1.0, 4.0, 16)


def test_yarns_magnitude_is_given_or_follows_from_the_factor():
  def magnitude(**given):
    scaling = small.YARN | given
    config = small.config("qwen3") | {"rope_scaling": scaling}
    return from_config(config).rope_scaling.magnitude

  assert magnitude(factor=np.e) == pytest.approx(1.1)
  assert magnitude(attention_factor=1.5) == 1.5
  ratio = (0.2 + 1) / (0.05 + 1)
  got = magnitude(factor=float(np.e), mscale=2.0, mscale_all_dim=0.5)
  assert got == pytest.approx(ratio)


def test_llama3_divides_long_wavelengths_and_leaves_short_ones():
  scaling = rope.Llama3(8.0, 1.0, 4.0, 64)
  # Wavelengths 16 and shorter are left, 64 and longer divided by 8; 32 turns
  # twice, a third of the way from 1 to 4.
  plain = 2 * np.pi / np.array([8, 16, 32, 64, 1000])
  third = 1 / (1 / 3 + 2 / 3 / 8)
  np.testing.assert_allclose(
    rope.llama3_divisors(plain, scaling), [1, 1, third, 8, 8]
  )


@pytest.mark.parametrize(
  ("changes", "message"),
  [
    ({"model_type": "gemma"}, "model_type: expected llama or .*, got 'gemma'"),
    ({"model_type": None}, "model_type: expected llama or .*, got None"),
    ({"model_type": "qwen3_moe"}, "model_type: .*got 'qwen3_moe'"),
    ({"hidden_act": "gelu"}, "hidden_act: expected silu, got 'gelu'"),
    ({"mlp_bias": True}, "mlp_bias: expected False, got True"),
    ({"attention_bias": True}, "attention_bias: expected False, got True"),
    ({"use_sliding_window": True}, "use_sliding_window: expected False or No"),
    (
      {"layer_types": ["full_attention", "sliding_attention"]},
      "layer_types: expected full_attention in every layer, got ",
    ),
    ({"quantization_config": {"bits": 4}}, "quantization_config: expected No"),
    ({"vocab_size": 0}, "vocab_size: expected a positive integer, got 0"),
    ({"vocab_size": "9"}, "vocab_size: expected a positive integer, got '9'"),
    ({"hidden_size": None}, "hidden_size: expected a positive integer, got N"),
    ({"hidden_size": 30}, "hidden_size: expected a multiple of 4 heads, got 3"),
    (
      {"num_key_value_heads": 3},
      "num_key_value_heads: expected a divisor of 4 heads, got 3",
    ),
    ({"head_dim": 7}, "head_dim: expected an even number, got 7"),
    ({"rms_norm_eps": -1}, "rms_norm_eps: expected a positive number, got -1"),
    (
      {"rope_scaling": {"rope_type": "dynamic", "factor": 2.0}},
      "rope_scaling.rope_type: expected default or linear or llama3 or yarn, "
      "got 'dynamic'",
    ),
    (
      {"rope_scaling": {"type": "linear"}},
      "rope_scaling.factor: expected a positive number, got None",
    ),
    (
      {"rope_scaling": {"type": "linear", "factor": 0.5}},
      "rope_scaling.factor: expected 1 or more, got 0.5",
    ),
    (
      {"rope_scaling": small.LLAMA3 | {"low_freq_factor": 4.0}},
      "rope_scaling.low_freq_factor: expected less than high_freq_factor 4.0, "
      "got 4.0",
    ),
    (
      {"rope_scaling": small.LLAMA3 | {"low_freq_factor": 5.0}},
      "rope_scaling.low_freq_factor: expected less than .*, got 5.0",
    ),
    ({"rope_scaling": [1]}, r"rope_scaling: expected an object, got \[1\]"),
    (
      {"rope_parameters": {"partial_rotary_factor": 0.5}},
      "rope_parameters.partial_rotary_factor: expected 1 or None, got 0.5",
    ),
  ],
)
def test_what_the_decoder_cannot_do_is_refused_by_name(changes, message):
  with pytest.raises(ValueError, match=f"^here.json: {message}"):
    from_config(small.config("llama") | changes, "here.json")
