"""LEAP on a small policy of its own, from nothing to reinforced kernels.

  python -m jaxkern.bin.train --config=configs/leap.py:demo --workdir=runs/demo

demo  two cores, no GPU: a corpus of verified kernels, a warm start on it, and
      LEAP with real compiles on the cpu device. docs/leap.md says what to
      expect.
tiny  the same in half a minute, for tests: too short to learn anything.

Any value can be overridden: --config.rl.steps=40. The same command continues a
run that was interrupted.
"""

from ml_collections import ConfigDict


def get_config(variant: str = "demo") -> ConfigDict:
  """The config of a variant."""
  config = ConfigDict()
  config.seed = 0
  config.device = "cpu"
  config.compile_workers = 0  # One per core.
  config.run_timeout_s = 5.0

  config.corpus = ConfigDict({"count": 840})
  config.vocab_size = 1024
  config.prompt_lengths = (48, 160, 224)  # Tokens; each compiles once.
  config.rows = 64  # Prompts sampled at once.
  config.microbatch = 4  # Rows per backward pass; few are fast on a CPU.
  config.tasks = 24  # That reinforcement practises; the warm start has all.

  config.model = ConfigDict(
    {
      "width": 128,
      "layers": 4,
      "heads": 4,
      "kv_heads": 2,
      "hidden": 384,
      "max_new_tokens": 192,
    }
  )
  config.sft = ConfigDict(
    {
      "steps": 64,
      "minibatches": 8,
      "rows": 24,
      "learning_rate": 5e-3,
      "clip_norm": 1.0,
      "weight_decay": 0.05,
      "repairs": 0.2,
    }
  )
  config.rl_temperature = 1.0
  config.rl = ConfigDict(
    {
      "steps": 15,
      "prompts": 32,
      "group_size": 8,
      "turns": 3,
      "t_min": 4,
      "t_max": 7,
      "gamma": 0.5,
      "learning_rate": 4e-4,
      "clip_norm": 1.0,
      "eps_low": 0.2,
      "eps_high": 0.28,
      "kl": 0.0,
      "minibatches": 1,
    }
  )
  config.evaluation = ConfigDict(
    {
      "new_sizes": {"samples": 9},
      "new_tasks": {"tasks": 16, "samples": 13},
      "temperature": 1.0,
    }
  )
  if variant == "tiny":
    config.corpus.count = 70
    config.model.update({"width": 32, "layers": 1, "heads": 2, "kv_heads": 2})
    config.model.update({"hidden": 64, "max_new_tokens": 64})
    config.rows = 8
    config.sft.update({"steps": 2, "minibatches": 2, "rows": 4})
    config.rl.update({"steps": 2, "prompts": 2, "group_size": 2, "turns": 2})
    config.rl.update({"t_min": 1, "t_max": 2})
    config.tasks = 2
    config.evaluation.new_sizes.samples = 2
    config.evaluation.new_tasks.update({"tasks": 2, "samples": 2})
  elif variant != "demo":
    raise ValueError(f"config: expected leap.py:demo or :tiny, got :{variant}")
  return config
