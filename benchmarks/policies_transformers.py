"""The rival of `policies_decode.py`: transformers' `generate`; prints JSON."""

import argparse
import importlib.metadata
import time

import policies_parts
import torch
import transformers


def model(shape: str, device: str) -> transformers.PreTrainedModel:
  """Random weights in bfloat16."""
  a = policies_parts.architecture(shape)
  config = transformers.Qwen3Config(
    vocab_size=a.vocab_size,
    hidden_size=a.width,
    intermediate_size=a.hidden,
    num_hidden_layers=a.layers,
    num_attention_heads=a.heads,
    num_key_value_heads=a.kv_heads,
    head_dim=a.head_width,
    tie_word_embeddings=a.tied,
    max_position_embeddings=a.max_positions,
  )
  torch.set_default_dtype(torch.bfloat16)
  with torch.device(device):
    return transformers.Qwen3ForCausalLM(config).eval()


def main() -> None:
  """Whole calls of `generate`, as `policies_parts.sampling` calls `sample`."""
  parser = argparse.ArgumentParser()
  parser.add_argument("--part")
  policies_parts.add_arguments(parser)
  arguments = parser.parse_args()
  device = "cuda" if torch.cuda.is_available() else "cpu"
  decoder = model(arguments.shape, device)
  versions = {
    name: importlib.metadata.version(name) for name in ("torch", "transformers")
  }
  for batch in map(int, arguments.batches.split(",")):
    prompts = torch.randint(
      0, decoder.config.vocab_size, (batch, arguments.prompt), device=device
    )
    seconds = []
    # Two calls to warm up: the second still records graphs.
    for _ in range(arguments.repeats + 2):
      began = time.monotonic()
      decoder.generate(
        prompts,
        attention_mask=torch.ones_like(prompts),
        max_new_tokens=arguments.new,
        min_new_tokens=arguments.new,
        do_sample=True,
        temperature=1.0,
        top_k=0,
        pad_token_id=0,
        eos_token_id=None,
        cache_implementation="static",
      )
      if device == "cuda":
        torch.cuda.synchronize()
      seconds.append(time.monotonic() - began)
    policies_parts.say(
      batch=batch,
      tokens=batch * arguments.new,
      seconds=seconds[2:],
      first_s=seconds[0],
      device=device,
      **versions,
    )


if __name__ == "__main__":
  main()
