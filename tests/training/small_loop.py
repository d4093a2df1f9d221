"""A loop small enough for tests: odd lengths of source pass."""

import importlib.util
import pathlib
from types import SimpleNamespace

import jax

from jaxkern import models
from jaxkern.learning import update as updates
from jaxkern.rewards import rules
from jaxkern.rollout.collect import Sampler
from jaxkern.tokenizer import Tokenizer
from jaxkern.training import run

_FILE = pathlib.Path(__file__).parents[2] / "configs" / "leap.py"
_SPEC = importlib.util.spec_from_file_location("leap_config", _FILE)
CONFIG = importlib.util.module_from_spec(_SPEC)  # configs/leap.py
_SPEC.loader.exec_module(CONFIG)

TOURNAMENT = rules.make("tournament", gamma=0.5)
OPTIONS = dict(
  seed=3,
  prompts=2,
  group_size=4,
  turns=2,
  t_min=1,
  t_max=4,
  rule=TOURNAMENT,
  score=rules.passed,
  learning_rate=1e-3,
  clip_norm=1.0,
  loss=updates.reinforce(length=8),
  minibatches=1,
  microbatch=None,
  say=lambda line: None,
)


def evaluate(pairs):
  return [
    SimpleNamespace(
      status="ok" if len(source) % 2 else "wrong_answer",
      log="odd lengths pass",
      compile_s=0.0,
      queue_s=0.0,
      run_s=0.0,
      cache_hit=False,
      speedup=0.0,
    )
    for _, source in pairs
  ]


def make_sampler():
  tokenizer = Tokenizer.train(["a"], 300)
  config = dict(
    width=16, layers=1, heads=2, kv_heads=2, hidden=16, max_new_tokens=8
  )
  policy = models.make(
    config,
    vocab_size=tokenizer.vocab_size,
    end_id=tokenizer.end_id,
    pad_id=tokenizer.pad_id,
  )
  params = policy.init(jax.random.key(0))
  return Sampler(policy, params, tokenizer, (64, 128), 8, 1.0)


def options_of(setting):
  """The tiny config's reinforcement by a setting, for the small policy."""
  config = CONFIG.get_config(f"tiny-{setting}")
  return {**OPTIONS, **run.rl_options(config), "steps": 2, "prompts": 2}
