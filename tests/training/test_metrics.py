import json

from jaxkern.training.metrics import Metrics, read


def test_lines_carry_stage_step_and_values(tmp_path):
  with Metrics(tmp_path, resume={}) as metrics:
    metrics.write(0, {"loss": 2.5}, "sft")
  assert read(tmp_path / "metrics.jsonl") == [
    {"stage": "sft", "step": 0, "loss": 2.5}
  ]
  assert list((tmp_path / "events").iterdir())


def test_resuming_drops_what_was_written_after_the_checkpoint(tmp_path):
  with Metrics(tmp_path, resume={}) as metrics:
    metrics.write(9, {"x": 1}, "sft")
    for step in range(3):
      metrics.write(step, {"x": step}, "rl")
  path = tmp_path / "metrics.jsonl"
  path.write_text(path.read_text() + '{"stage": "rl", "st')
  with Metrics(tmp_path, resume={"sft": 10, "rl": 2}) as metrics:
    metrics.write(2, {"x": 7}, "rl")
  lines = [json.loads(line) for line in path.read_text().splitlines()]
  assert [(x["stage"], x["step"], x["x"]) for x in lines] == [
    ("sft", 9, 1),
    ("rl", 0, 0),
    ("rl", 1, 1),
    ("rl", 2, 7),
  ]
