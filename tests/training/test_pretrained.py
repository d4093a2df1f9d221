"""A run that begins from a checkpoint reads and writes as the checkpoint."""

import json
import pathlib

import jax
import numpy as np
import pytest
from ml_collections import ConfigDict

from jaxkern import config as configs
from jaxkern.data.corpus import Example
from jaxkern.learning import update as updates
from jaxkern.models.text import Frame
from jaxkern.rollout import collect, prompts
from jaxkern.tasks import suite
from jaxkern.training import run, sft
from jaxkern.training.checkpoint import Checkpoints


@pytest.fixture
def directory(monkeypatch, tmp_path):
  """A small Llama with a tokenizer that has two end tokens."""
  models = pathlib.Path(__file__).parent.parent / "models"
  monkeypatch.syspath_prepend(str(models))
  import small_checkpoints as small
  import test_text

  from jaxkern.models import text

  model = test_text.trained()
  path = small.write(tmp_path / "model", "llama")
  vocabulary = small.SIZES | {"vocab_size": model.get_vocab_size()}
  monkeypatch.setattr(small, "SIZES", vocabulary)
  small.write(path, "llama")
  text.make(model, [1, 2], None, {}, "here").save(path)
  return path


def test_its_tokenizer_is_the_runs(directory, tmp_path):
  config = ConfigDict(
    {"model": {"checkpoint": str(directory), "max_new_tokens": 40}}
  )
  tokenizer = run._tokenizer(tmp_path, (), config)
  assert tokenizer.end_ids == (1, 2)
  policy = run.make_policy(config, tokenizer)
  params = policy.init(jax.random.key(0))
  ids = np.array([tokenizer.encode("float y = x;")], np.int32)
  drawn = policy.sample(
    params, jax.random.split(jax.random.key(0), 64), ids,
    np.ones(ids.shape, np.float32), 5.0, samples=64,
  )  # fmt: skip
  lengths = np.asarray(drawn.mask).sum(axis=1).astype(int)
  last = {
    int(t[n - 1]) for t, n in zip(drawn.tokens, lengths, strict=True) if n < 40
  }
  assert last == {1, 2}
  # And of whoever loads the run.
  workdir = tmp_path / "run"
  configs.keep(config.to_dict(), workdir)
  optimizer = updates.make_optimizer(1e-3, clip_norm=1.0)
  with Checkpoints(workdir / "sft") as checkpoints:
    checkpoints.save(1, updates.init_state(params, optimizer))
  _, loaded, _ = run.load(workdir)
  assert loaded.encode("float y = x;") == ids[0].tolist()


CHAT = """{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}
<assistant>"""


def test_its_template_frames_prompts_of_both_stages(directory, tmp_path):
  source = directory / "tokenizer_config.json"
  given = json.loads(source.read_text())
  source.write_text(json.dumps(given | {"chat_template": CHAT}))
  config = ConfigDict({"model": {"checkpoint": str(directory)}})
  tokenizer = run._tokenizer(tmp_path, (), config)
  assert tokenizer.frame == Frame("<user>", "<assistant>", "<user>")
  task = suite.get(suite.names(split="train")[0])
  words = f"<user>{prompts.first_turn(task)}<assistant>"
  expected = tokenizer.encode(words)
  made = Example(task.name, "float x;", None, "", "")
  (pair,), _ = sft.pairs([made], tokenizer, 10_000, 10_000)
  assert pair.prompt == expected
  sampler = collect.Sampler(None, None, tokenizer, (10_000,), 1, 1.0)
  asked = collect._prompt(
    sampler, task, collect.Rollout(task.name, ()), None, None
  )
  assert asked.prompt == expected


def test_a_checkpoint_without_one_is_refused(directory, tmp_path):
  (directory / "tokenizer.json").unlink()
  config = ConfigDict({"model": {"checkpoint": str(directory)}})
  with pytest.raises(ValueError, match="model: expected a tokenizer, got none"):
    run._tokenizer(tmp_path, (), config)


def test_the_config_of_smollm2_is_one():
  path = pathlib.Path(__file__).parents[2] / "configs" / "sft.py"
  scope: dict = {}
  exec(compile(path.read_text(), str(path), "exec"), scope)
  config = scope["get_config"]("smollm2")
  base: dict = {}
  leap = path.with_name("leap.py")
  exec(compile(leap.read_text(), str(leap), "exec"), base)
  # All that the ring reads is there; sizes and vocabulary are the checkpoint's.
  ring = base["get_config"]("demo")
  assert set(ring.keys()) - set(config.keys()) == {"vocab_size"}
  for part in ("sft", "rl", "evaluation"):
    assert set(ring[part].keys()) == set(config[part].keys())
  with pytest.raises(ValueError, match="expected sft.py:smollm2, got :x"):
    scope["get_config"]("x")
