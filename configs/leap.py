"""LEAP and its rivals on a small policy, from nothing to reinforced kernels.

  python -m jaxkern.bin.train --config=configs/leap.py:demo --workdir=runs/demo
  python -m jaxkern.bin.train --config=configs/leap.py:demo-dense \
    --workdir=runs/dense

The variant is a size and, after a dash, a setting; without one it is LEAP.

demo  two cores, no GPU: a corpus of verified kernels, a warm start on it, and
      reinforcement with real compiles on the cpu device. docs/leap.md says what
      to expect.
tiny  the same in half a minute, for tests: too short to learn anything.

The five of the comparison, which differ in nothing else:
leap        the gate and the tournament
dense       neither: every failure gets every turn, TRLOO on returns of turns
single      one turn, GRPO
gate        the gate alone, with dense's TRLOO
tournament  the tournament alone: every failure gets every turn

Ablations of the gate (LEAP's own leaves groups out that failed altogether):
below_half  expands groups of which less than half failed
half_up     expands groups of which half or more failed, all included
all         expands all: `tournament` by another name

Other rivals: multi (GRPO on an attempt's outcome, dense), kevin, dr_kernel,
murphy_max, murphy_mean, musacoder; docs/leap.md says what each of them is.

--config.conversation lets a turn read all turns before it, whose keys and
values are kept; --config.rl.staleness=1 samples a step while the one before is
judged (docs/leap.md).

Any value can be overridden: --config.rl.steps=40. The same command continues a
run that was interrupted.
"""

from ml_collections import ConfigDict

# Of completions of which the trainer thinks otherwise than the sampler did.
_REJECTION = {
  "name": "geometric_mean",
  "low": 0.999,
  "high": 1.001,
  "veto": 1e-4,
}


def get_config(variant: str = "demo") -> ConfigDict:
  """The config of a variant."""
  size, _, setting = variant.partition("-")
  if size == "demo":
    config = _demo()
  elif size == "tiny":
    config = _tiny()
  else:
    raise ValueError(
      f"config: expected leap.py:demo or :tiny, with -SETTING after it or not,"
      f" got :{variant}"
    )
  known = _settings(config.rl.group_size)
  if (setting or "leap") not in known:
    raise ValueError(
      f"config: expected one of {', '.join(known)} after the dash, got"
      f" {setting}"
    )
  for name, value in known[setting or "leap"].items():
    if name == "repetitions":
      config.repetitions = value
    else:  # Not `update`, which would keep the options of LEAP's rule.
      config.rl[name] = ConfigDict(value) if isinstance(value, dict) else value
  return config


def _settings(group_size: int) -> dict[str, dict]:
  """What the settings change in config.rl, and in repetitions."""
  everything = {"t_min": 0, "t_max": group_size}
  trloo = {"rule": {"name": "trloo", "gamma": 1.0}}
  timed = {"repetitions": 10}
  half = -(-group_size // 2)
  return {
    "leap": {},
    "dense": everything | trloo,
    "single": {"turns": 1, "rule": {"name": "grpo"}},
    "gate": trloo,
    "tournament": everything,
    "below_half": {"t_min": 1, "t_max": half - 1},
    "half_up": {"t_min": half, "t_max": group_size},
    "all": everything,
    "multi": everything | {"rule": {"name": "grpo"}},
    "kevin": everything
    | timed
    | {"rule": {"name": "kevin", "gamma": 0.4}, "score": "kevin"},
    "dr_kernel": everything
    | timed
    | trloo
    | {"score": "dr_kernel", "keep": _REJECTION},
    "murphy_max": everything | {"rule": {"name": "murphy_max"}},
    "murphy_mean": everything | {"rule": {"name": "murphy_mean", "gamma": 0.9}},
    "musacoder": everything
    | {"rule": {"name": "musacoder", "alpha": 0.75}}
    | {"retry": {"capacity": 64, "probability": 0.1}},
  }


def _demo() -> ConfigDict:
  config = ConfigDict()
  config.seed = 0
  config.device = "cpu"
  config.compile_workers = 0  # One per core.
  config.compile_timeout_s = 30.0  # Of one kernel; the others go on meanwhile.
  config.run_timeout_s = 5.0
  config.repetitions = 0  # Timed samples of a right kernel; 0 only checks.

  config.corpus = ConfigDict({"count": 840})
  config.vocab_size = 1024
  config.prompt_lengths = (48, 160, 224)  # Tokens; each compiles once.
  # A turn reads all turns before it, not the latest alone: longer prompts.
  config.conversation = False
  config.rows = 64  # Prompts sampled at once.
  config.microbatch = 4  # Rows per backward pass; few are fast on a CPU.
  config.shard_optimizer = False  # Over the devices: each holds a part.
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
      "steps": 80,
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
      "steps": 30,
      "prompts": 32,
      "group_size": 8,
      "turns": 3,
      "t_min": 4,
      "t_max": 7,
      "rule": {"name": "tournament", "gamma": 0.5},
      "score": "passed",
      "learning_rate": 4e-4,
      "clip_norm": 1.0,
      "objective": {"name": "clipped", "eps_low": 0.2, "eps_high": 0.28},
      "normalise": "length",  # Or tokens: the mean over those of a batch.
      "keep": {"name": "everything"},
      "kl": 0.0,
      "kl_to": "sampler",  # Or start: where reinforcement began.
      "minibatches": 1,
      # Steps sampled ahead, while kernels are judged, by parameters as old.
      "staleness": 0,
      # Tasks that whole groups failed, served again as repairs.
      "retry": {"capacity": 0, "probability": 0.0},
    }
  )
  # What a slower sandbox would cost: waits until so many verifiers at once
  # could have judged a turn's kernels. 0 s: none is simulated.
  config.simulated = ConfigDict({"latency_s": 0.0, "verifiers": 16})
  config.evaluation = ConfigDict(
    {
      "turns": 3,  # Of every setting, also of those that train on fewer.
      "new_sizes": {"samples": 9},
      "new_tasks": {"tasks": 16, "samples": 13},
      "temperature": 1.0,
    }
  )
  return config


def _tiny() -> ConfigDict:
  config = _demo()
  config.corpus.count = 70
  config.model.update({"width": 32, "layers": 1, "heads": 2, "kv_heads": 2})
  config.model.update({"hidden": 64, "max_new_tokens": 64})
  config.rows = 8
  config.sft.update({"steps": 2, "minibatches": 2, "rows": 4})
  config.rl.update({"steps": 2, "prompts": 2, "group_size": 2, "turns": 2})
  config.rl.update({"t_min": 1, "t_max": 2})
  config.tasks = 2
  config.evaluation.turns = 2
  config.evaluation.new_sizes.samples = 2
  config.evaluation.new_tasks.update({"tasks": 2, "samples": 2})
  return config
