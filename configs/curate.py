"""Verified fast kernels, as DICE's CuKe is for, from sources of ours or yours.

  python -m jaxkern.bin.curate --config=configs/curate.py:cpu \
    --workdir=runs/cuke
  python -m jaxkern.bin.curate --config=configs/curate.py:h200 \
    --workdir=runs/cuke
  python -m jaxkern.bin.curate --config=configs/curate.py:h200-files \
    --workdir=runs/mine --source=kernels.jsonl --source=folder

cpu    two cores, no GPU: 200 kernels on the emulated device, a quarter of an
       hour. Its speedups are those of the emulation.
h200   one H200 and 16 cores: thousands of optimised kernels at sizes that fill
       the GPU. --config.limit_s=240 stops after a stretch; the same command
       goes on.
tiny   a few kernels, for tests.

After a dash, `files` generates nothing: --source says what is read.
docs/cuke.md explains the stages and what comes out.
"""

from ml_collections import ConfigDict


def get_config(variant: str = "cpu") -> ConfigDict:
  """The config of a variant."""
  size, _, rest = variant.partition("-")
  if size not in ("cpu", "h200", "tiny") or rest not in ("", "files"):
    raise ValueError(
      "config: expected curate.py:cpu, :h200 or :tiny, with -files after it or"
      f" not, got :{variant}"
    )
  config = ConfigDict()
  config.title = "CuKe-like CUDA kernels"
  # What verdicts depend on; a work directory is kept to it.
  config.verdict = ConfigDict(
    {
      "device": "cpu",
      "sizes": "task",  # Or large: those that fill a GPU.
      "seeds": 2,  # Inputs are drawn anew for each.
      "repetitions": 20,
      "timed_variants": 4,
      "run_timeout_s": 20.0,
    }
  )
  # Kernels of ours: optimised variants, and the corpus' plain styles.
  config.generate = ConfigDict(
    {"seed": 0, "variants": 160, "styles": 40, "families": ()}
  )
  config.tasks = ()  # Files or folders of further tasks.
  config.evaluations = ("held_out",)  # And KernelBench checkouts, files.
  config.ngram = ConfigDict({"words": 13, "share": 0.8})
  config.keep = 2.0
  config.lower = (1.5, 1.0)
  config.alike = 0.9
  config.limit_s = 0.0  # 0 for no limit.
  if size == "h200":
    config.verdict.update({"device": "cuda", "sizes": "large"})
    config.verdict.update({"timed_variants": 2, "repetitions": 12})
    config.generate.update({"variants": 4400, "styles": 400})
  if size == "tiny":
    config.verdict.update({"repetitions": 10, "seeds": 1})
    config.generate.update({"variants": 6, "styles": 3})
  if rest == "files":
    config.generate.update({"variants": 0, "styles": 0})
  return config
