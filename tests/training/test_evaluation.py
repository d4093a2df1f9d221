import json
from types import SimpleNamespace

from jaxkern.rollout.collect import Rollout
from jaxkern.tasks import suite
from jaxkern.training import evaluation


def record(task, k):
  return {"task": task, "success_turn": k, "turns": []}


def test_pass_rates_are_cumulative_by_turn():
  records = [record("a", 1), record("a", 2), record("b", None), record("b", 3)]
  rates = evaluation.pass_rates(records, turns=3)
  assert [rates[f"pass@{k}"] for k in (1, 2, 3)] == [0.25, 0.5, 0.75]
  assert rates["n"] == 4
  low, high = rates["pass@1_interval"]
  assert low == 0.0 and high == 0.5  # Task b has nothing to resample.


def test_a_rollout_that_never_passed_has_no_success_turn():
  result = SimpleNamespace(status="timeout", log="slow", speedup=0.0)
  turn = SimpleNamespace(source="x", result=result)
  made = evaluation.as_record(Rollout("relu", (turn,)))
  assert made["success_turn"] is None
  assert made["turns"][0]["status"] == "timeout"


def test_what_is_in_the_file_is_not_sampled_again(monkeypatch, tmp_path):
  path = tmp_path / "before.jsonl"
  lines = [record("relu", 1)] * 2 + [record("tanh", 1)]
  path.write_text("".join(json.dumps(r) + "\n" for r in lines) + '{"ta')
  sampled = []

  def collect(sampler, key, tasks, evaluate, *, group_size, **rest):
    sampled.extend(task.name for task in tasks)
    result = SimpleNamespace(status="ok", log="", speedup=0.0)
    turn = SimpleNamespace(source="x", result=result)
    groups = [[Rollout(t.name, (turn,))] * group_size for t in tasks]
    return groups, None

  monkeypatch.setattr(evaluation.collect, "collect", collect)
  records = evaluation.evaluate_policy(
    SimpleNamespace(rows=8),
    [suite.get(name) for name in ("relu", "tanh", "silu")],
    None,
    path,
    seed=0,
    samples=2,
    turns=3,
    label="test",
  )
  # tanh was cut short and is sampled anew, as a whole.
  assert sampled == ["tanh", "silu"]
  assert [r["task"] for r in records] == ["relu"] * 2 + ["tanh"] * 2 + [
    "silu"
  ] * 2
  assert len(path.read_text().splitlines()) == 6
