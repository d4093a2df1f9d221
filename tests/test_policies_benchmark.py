"""The benchmark of policies runs where there is no GPU, and says what it is."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parent.parent


def test_it_measures_a_tiny_shape(tmp_path):
  out = tmp_path / "record.json"
  command = [
    sys.executable,
    str(ROOT / "benchmarks" / "policies_decode.py"),
    "--parts=bandwidth,autoregressive,block_diffusion,training,profile",
    "--shape=tiny",
    "--batches=3",
    "--prompt=8",
    "--new=8",
    "--repeats=2",
    "--rows=2",
    "--length=32",
    f"--out={out}",
  ]
  # One device, as pmap would want rows for each of two; quickly compiled.
  flags = "--xla_backend_optimization_level=0"
  environment = os.environ | {"XLA_FLAGS": flags}
  subprocess.run(command, check=True, env=environment, capture_output=True)
  record = json.loads(out.read_text())
  assert record["command"] and record["versions"]["jax"]
  kinds = {(row["kind"], row["batch"]) for row in record["summary"]}
  assert {("autoregressive", 3), ("blocks of 4, 2 steps", 3)} < kinds
  assert len(kinds) == 4
  for row in record["summary"]:
    assert row["share_of_floor"] > 0
    assert row["tokens_per_s"] > 0
  [training] = record["training"]["samples"]
  assert training["tokens"] == 64
  assert 0 < training["utilisation"] < 1
  assert [s["kernels"] for s in record["profile"]["samples"]] == [[]]
  assert not record["training"]["failure"]
