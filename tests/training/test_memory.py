import jax
import jax.numpy as jnp
import pytest

from jaxkern import models
from jaxkern.data.corpus import Example
from jaxkern.tokenizer import Tokenizer
from jaxkern.training import memory, sft
from jaxkern.training.memory import Need


def test_a_steps_need_is_that_of_its_arrays():
  x = jnp.zeros((64, 32))
  step = jax.jit(lambda x, y: (x + 1, y @ y.T), donate_argnums=0)
  found = memory.need(step, x, jnp.zeros((128, 8)))
  assert found.arguments == 4 * (64 * 32 + 128 * 8)
  # x is donated: its sum takes its place. Tuples are tables of pointers.
  assert 0 <= found.results - 4 * 128 * 128 <= 64
  grown = memory.need(jax.jit(lambda x: jnp.sum(jnp.sort(x @ x.T))), x)
  assert grown.temporary >= 4 * 64 * 64


def test_a_need_is_said_or_refused_with_figures():
  said = []
  found = Need(3 * 10**9, 10**9, 4 * 10**9)
  memory.check("an update", found, 9 * 10**9, besides=10**9, say=said.append)
  assert said == [
    "memory: an update: 9.00 GB (arguments 3.00, results 1.00, temporary 4.00, "
    "besides 1.00) of 9.00 GB"
  ]
  with pytest.raises(
    ValueError, match="an update: expected at most 8.50 GB, got 9.00 GB"
  ):
    memory.check("an update", found, int(8.5e9), besides=10**9)


def test_nobody_knows_a_cpus_limit():
  if jax.default_backend() == "cpu":
    assert memory.limit() is None
  else:
    assert memory.limit() > 0


def test_a_warm_start_that_cannot_fit_is_refused(monkeypatch, tmp_path):
  monkeypatch.setattr(memory, "limit", lambda: 1000)
  tokenizer = Tokenizer.train(["a"], 300)
  policy = models.make(
    dict(width=8, layers=1, heads=2, kv_heads=1, hidden=8, max_new_tokens=6),
    vocab_size=tokenizer.vocab_size,
    end_id=tokenizer.end_ids,
    pad_id=tokenizer.pad_id,
  )
  options = dict(seed=0, steps=4, minibatches=1, rows=2, learning_rate=1e-3)
  options |= dict(clip_norm=1.0, weight_decay=0.0, repairs=0.0, longest=8)
  with pytest.raises(ValueError, match="memory: an update of the warm start"):
    sft.train(
      policy,
      [Example("relu", "a", None, "ok", "")],
      tokenizer,
      tmp_path,
      None,
      prompt_lengths=(16,),
      microbatch=None,
      **options,
    )
  assert not [p for p in tmp_path.iterdir() if p.name.isdigit()]
