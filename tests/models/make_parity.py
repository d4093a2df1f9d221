"""Writes parity.npz: what transformers makes of the small checkpoints.

  pip install -e '.[parity]'
  python tests/models/make_parity.py

CI reads the file and needs neither. SDAR, which transformers does not have, is
its Qwen3 under a block mask: that is how the model's authors define it.
"""

import json
import pathlib
import tempfile

import numpy as np
import small_checkpoints as small
import torch
import transformers

HERE = pathlib.Path(__file__).parent


def reference(directory: pathlib.Path) -> transformers.PreTrainedModel:
  """The model in a directory, in float32."""
  path = directory / "config.json"
  config = json.loads(path.read_text())
  if config["model_type"] == "sdar":
    path.write_text(json.dumps(config | {"model_type": "qwen3"}))
  return transformers.AutoModelForCausalLM.from_pretrained(
    directory, dtype=torch.float32, attn_implementation="eager"
  ).eval()


def logits(model: transformers.PreTrainedModel, family: str) -> np.ndarray:
  """[2, 40, 48] of the small tokens."""
  mask = None
  if family == "sdar":
    seen = torch.tensor(small.block_mask(small.TOKENS.shape[1]))
    mask = torch.where(seen, 0.0, torch.finfo(torch.float32).min)[None, None]
    mask = mask.expand(len(small.TOKENS), -1, -1, -1)
  with torch.no_grad():
    out = model(torch.tensor(small.TOKENS), attention_mask=mask)
  return out.logits.numpy()


def greedy(model: transformers.PreTrainedModel) -> np.ndarray:
  """NEW tokens after the first PROMPT of the first row."""
  prompt = torch.tensor(small.TOKENS[:1, : small.PROMPT])
  out = model.generate(
    prompt,
    max_new_tokens=small.NEW,
    min_new_tokens=small.NEW,
    do_sample=False,
    pad_token_id=0,
    eos_token_id=None,
  )
  return out[0, small.PROMPT :].numpy()


def main() -> None:
  """Writes the file beside this script."""
  arrays = {}
  for family in small.FAMILIES:
    with tempfile.TemporaryDirectory() as directory:
      model = reference(small.write(pathlib.Path(directory), family))
    arrays[f"{family}/logits"] = logits(model, family)
    arrays[f"{family}/greedy"] = greedy(model)
  np.savez_compressed(HERE / "parity.npz", **arrays)
  print(f"transformers {transformers.__version__}: {len(arrays)} arrays")


if __name__ == "__main__":
  main()
