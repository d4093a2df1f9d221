import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy
import small_checkpoints as small

from jaxkern import models
from jaxkern.models import checkpoints, huggingface

SHARD = "model-00002-of-00003.safetensors"


def equal(one, other):
  jax.tree.map(np.testing.assert_array_equal, one, other)


def test_shards_are_read_as_one_file(tmp_path):
  one = checkpoints.load(small.write(tmp_path / "one", "qwen2"))
  three = checkpoints.load(small.write(tmp_path / "three", "qwen2", shards=3))
  equal(one.params, three.params)
  assert one.architecture == three.architecture


@pytest.mark.parametrize("stored", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("wanted", ["float32", "bfloat16"])
def test_parameters_come_in_the_wanted_dtype(tmp_path, stored, wanted):
  directory = small.write(tmp_path, "qwen3", dtype=stored)
  params = checkpoints.load(directory, wanted).params["params"]
  assert {leaf.dtype.name for leaf in jax.tree.leaves(params)} == {wanted}
  name = "model.layers.1.mlp.up_proj.weight"
  expected = small.weights("qwen3")[name].astype(stored).astype(wanted).T
  np.testing.assert_array_equal(params["blocks_1"]["up"]["kernel"], expected)


@pytest.mark.parametrize("family", small.FAMILIES)
@pytest.mark.parametrize("shard_bytes", [1 << 30, 9000])
def test_what_is_exported_is_what_was_loaded(
  tmp_path, monkeypatch, family, shard_bytes
):
  monkeypatch.setattr(huggingface, "_SHARD_BYTES", shard_bytes)
  loaded = checkpoints.load(small.write(tmp_path / "in", family))
  out = tmp_path / "out"
  checkpoints.export(loaded.params, loaded.architecture, out)
  files = sorted(out.glob("*.safetensors"))
  assert (len(files) > 2) == (shard_bytes == 9000)
  arrays = {}
  for file in files:
    arrays |= safetensors.numpy.load_file(file)
  expected = small.weights(family)
  assert arrays.keys() == expected.keys()
  for name, array in arrays.items():
    np.testing.assert_array_equal(array, expected[name])
  again = checkpoints.load(out)
  equal(again.params, loaded.params)
  assert again.architecture == loaded.architecture


@pytest.mark.parametrize(
  ("before", "after"), [(9000, 1 << 30), (1 << 30, 9000)]
)
def test_an_export_leaves_nothing_of_the_one_before(
  tmp_path, monkeypatch, before, after
):
  loaded = checkpoints.load(small.write(tmp_path / "in", "qwen2"))
  other = jax.tree.map(lambda leaf: leaf + 1, loaded.params)
  out = tmp_path / "out"
  monkeypatch.setattr(huggingface, "_SHARD_BYTES", before)
  checkpoints.export(other, loaded.architecture, out)
  (out / "model_card.safetensors").write_text("not ours")
  monkeypatch.setattr(huggingface, "_SHARD_BYTES", after)
  checkpoints.export(loaded.params, loaded.architecture, out)
  equal(checkpoints.load(out).params, loaded.params)
  single, index = "model.safetensors", "model.safetensors.index.json"
  assert (out / single).exists() != (out / index).exists()
  assert (out / "model_card.safetensors").exists()


def test_an_export_that_fails_leaves_no_directory_to_be_read(
  tmp_path, monkeypatch
):
  loaded = checkpoints.load(small.write(tmp_path, "qwen2"))

  def full(*given):
    raise OSError("no space left")

  monkeypatch.setattr(safetensors.numpy, "save_file", full)
  with pytest.raises(OSError, match="no space"):
    checkpoints.export(loaded.params, loaded.architecture, tmp_path)
  with pytest.raises(ValueError, match="config.json: expected a JSON file"):
    checkpoints.load(tmp_path)


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("family", ["llama3", "qwen2", "qwen3_yarn"])
def test_transformers_loads_what_is_exported(tmp_path, family):
  torch = pytest.importorskip("torch")
  transformers = pytest.importorskip("transformers")
  loaded = checkpoints.load(small.write(tmp_path / "in", family))
  checkpoints.export(loaded.params, loaded.architecture, tmp_path / "out")
  model = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "out")
  with torch.no_grad():
    got = model(torch.tensor(small.TOKENS)).logits
  expected = np.load(pathlib.Path(__file__).parent / "parity.npz")
  np.testing.assert_allclose(got, expected[f"{family}/logits"], atol=1e-4)


def test_bfloat16_is_exported_as_such(tmp_path):
  loaded = checkpoints.load(small.write(tmp_path / "in", "qwen3"), jnp.bfloat16)
  checkpoints.export(loaded.params, loaded.architecture, tmp_path / "out")
  config = json.loads((tmp_path / "out" / "config.json").read_text())
  assert config["torch_dtype"] == "bfloat16"
  equal(checkpoints.load(tmp_path / "out", jnp.bfloat16).params, loaded.params)


def test_a_policy_has_room_for_its_tokenizer(tmp_path):
  config = {
    "checkpoint": str(small.write(tmp_path, "smollm2")),
    "max_new_tokens": 2,
  }
  with pytest.raises(
    ValueError, match="expected a tokenizer of at most 48 entries, got one of 9"
  ):
    models.make(config, vocab_size=900, end_id=1, pad_id=0)


def test_a_policy_reads_parameters_in_their_own_dtype(tmp_path):
  policy = models.make(
    {
      "checkpoint": str(small.write(tmp_path, "smollm2")),
      "max_new_tokens": 2,
      "param_dtype": "bfloat16",
      "dtype": "bfloat16",
    },
    vocab_size=40,
    end_id=1,
    pad_id=0,
  )
  params = policy.init(jax.random.key(0))
  assert jax.tree.leaves(params)[0].dtype == jnp.bfloat16
  drawn = policy.sample(
    params, jax.random.key(0), jnp.ones((1, 3), int), jnp.ones((1, 3)), 1.0
  )
  assert drawn.tokens.shape == (1, 2)


@pytest.mark.parametrize("checkpoint", ["", None])
def test_no_checkpoint_is_a_policy_of_its_own_sizes(checkpoint):
  sizes = {"width": 16, "layers": 1, "heads": 2, "kv_heads": 1, "hidden": 16}
  sizes |= {"checkpoint": checkpoint, "max_new_tokens": 2}
  policy = models.make(sizes, vocab_size=20, end_id=1, pad_id=0)
  assert jax.tree.leaves(policy.init(jax.random.key(0)))


def remove_shard(directory):
  (directory / SHARD).unlink()


def cut_shard(directory):
  data = (directory / SHARD).read_bytes()
  (directory / SHARD).write_bytes(data[:-100])


def rewrite(change):
  """Changes the second shard's tensors."""

  def run(directory):
    arrays = safetensors.numpy.load_file(directory / SHARD)
    change(arrays)
    safetensors.numpy.save_file(arrays, directory / SHARD)

  return run


def rename(arrays):
  arrays["other"] = arrays.pop("model.layers.0.mlp.gate_proj.weight")


def reshape(arrays):
  name = "model.layers.0.mlp.gate_proj.weight"
  arrays[name] = arrays[name].T.copy()


def extend_index(directory):
  path = directory / "model.safetensors.index.json"
  index = json.loads(path.read_text())
  index["weight_map"]["model.layers.0.self_attn.q_norm.weight"] = SHARD
  path.write_text(json.dumps(index))
  rewrite(
    lambda a: a.update({"model.layers.0.self_attn.q_norm.weight": np.ones(8)})
  )(directory)


def shorten_index(directory):
  path = directory / "model.safetensors.index.json"
  index = json.loads(path.read_text())
  del index["weight_map"]["model.norm.weight"]
  path.write_text(json.dumps(index))


def number_in_index(directory):
  path = directory / "model.safetensors.index.json"
  index = json.loads(path.read_text())
  index["weight_map"]["model.norm.weight"] = 3
  path.write_text(json.dumps(index))


def empty_index(directory):
  (directory / "model.safetensors.index.json").write_text("{}")


@pytest.mark.parametrize(
  ("spoil", "message"),
  [
    (remove_shard, f"/{SHARD}: expected a file with [a-z0-9_.]+, got none"),
    (cut_shard, rf"/{SHARD}: expected a whole safetensors file, got \d+ bytes"),
    (
      rewrite(rename),
      f"/{SHARD}: model.layers.0.mlp.gate_proj.weight: expected as in ",
    ),
    (
      rewrite(reshape),
      rf"/{SHARD}: model.layers.0.mlp.gate_proj.weight: expected \(40, 32\), "
      r"got \(32, 40\)",
    ),
    (
      extend_index,
      f"/{SHARD}: model.layers.0.self_attn.q_norm.weight: expected no such "
      r"tensor in a qwen2 model, got \(8,\)",
    ),
    (shorten_index, r": model.norm.weight: expected \(32,\), got nothing"),
    (
      number_in_index,
      "/model.safetensors.index.json: weight_map: model.norm.weight: expected "
      "a file's name, got 3",
    ),
    (empty_index, "/model.safetensors.index.json: weight_map: expected names"),
  ],
)
def test_a_spoilt_directory_is_refused_in_one_line(tmp_path, spoil, message):
  directory = small.write(tmp_path, "qwen2", shards=3)
  spoil(directory)
  with pytest.raises(ValueError, match=f"^{directory}{message}") as caught:
    checkpoints.load(directory)
  assert "\n" not in str(caught.value)


def test_a_directory_without_weights_is_refused(tmp_path):
  small.write(tmp_path, "qwen2")
  (tmp_path / "model.safetensors").unlink()
  with pytest.raises(ValueError, match="expected model.safetensors or model.s"):
    checkpoints.load(tmp_path)
  (tmp_path / "config.json").write_text("{")
  with pytest.raises(ValueError, match="config.json: expected a JSON file: "):
    checkpoints.load(tmp_path)
  with pytest.raises(ValueError, match="expected a directory or a GGUF file"):
    checkpoints.load(tmp_path / "nowhere")


def test_frequencies_and_a_tied_head_in_a_file_are_left_out(tmp_path):
  small.write(tmp_path, "smollm2")
  arrays = small.weights("smollm2")
  arrays["model.layers.0.self_attn.rotary_emb.inv_freq"] = np.ones(4)
  arrays["lm_head.weight"] = arrays["model.embed_tokens.weight"]
  safetensors.numpy.save_file(arrays, tmp_path / "model.safetensors")
  params = checkpoints.load(tmp_path).params
  assert "unembed" not in params["params"]
