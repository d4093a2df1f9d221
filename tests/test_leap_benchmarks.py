"""The benchmarks of LEAP: runs of one start, a simulated clock."""

import argparse
import importlib
import json
import pathlib
import sys

import pytest

BENCHMARKS = pathlib.Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def benchmarks(monkeypatch):
  monkeypatch.syspath_prepend(str(BENCHMARKS))
  names = ("record", "leap", "leap_latency")
  yield [importlib.import_module(name) for name in names[1:]]
  for name in names:
    sys.modules.pop(name, None)


def run_of(setting, accuracies, turns, seed=0):
  """A record of 1 s of sampling and 2 s of updating a step."""
  line = {"seconds_sampling": 1.0, "seconds_updating": 2.0}
  for k, n in enumerate(turns, 1):
    line |= {f"turns@{k}": n, f"judged@{k}": n}
  steps = [line | {"pass@1": x} for x in accuracies]
  return {"setting": setting, "seed": seed, "rl": steps}


def test_a_step_costs_its_rounds_of_verification(benchmarks):
  _, sweep = benchmarks
  [line] = run_of("dense", [0.5], [4, 4])["rl"]
  assert sweep.step_seconds(line, 0.0, 4) == 3.0
  # Two turns of 0.5 s of sampling and 10 s of verification.
  assert sweep.step_seconds(line, 10.0, 4) == 23.0
  # Two rounds each, the first of which began while others were sampled.
  assert sweep.step_seconds(line, 10.0, 2) == 42.0


def test_the_gate_pays_from_the_latency_on_at_which_it_must(benchmarks):
  _, sweep = benchmarks
  rise = [0.0, 0.2, 0.4, 0.6]
  runs = [
    run_of("leap", rise, [8, 4]),
    run_of("dense", rise, [8, 8]),
    run_of("single", [0.0, 0.0, 0.2, 0.6], [8]),
  ]
  found = sweep.sweep(runs, verifiers=4)
  cost = {p["latency_s"]: p["cost"] for p in found["points"]}
  assert cost[0.0] == {"dense": 1.0, "single": 1.0}
  # Four rounds against three, and two against three.
  assert cost[300.0]["dense"] == pytest.approx(4 / 3, abs=0.01)
  assert cost[300.0]["single"] == pytest.approx(2 / 3, abs=0.01)
  [[begin, end]] = found["slower_step"]["dense"]
  assert 0 < begin < 1 and end == 300
  assert found["slower_step"]["single"] == []
  # Of more steps for the same accuracy: as long as verdicts cost nothing much.
  [[begin, end]] = found["slower_to_accuracy"]["single"]
  assert begin == 0 and 0 < end < 300
  assert any("dense" in line for line in sweep.said(found))


def test_without_a_rival_there_is_nothing_to_compare(benchmarks):
  _, sweep = benchmarks
  with pytest.raises(
    ValueError, match=r"expected runs of leap.*got \['leap'\]"
  ):
    sweep.sweep([run_of("leap", [0.5], [4])], 4)


def test_the_sweep_writes_a_record_and_the_same_picture(
  benchmarks, monkeypatch, tmp_path
):
  _, sweep = benchmarks
  recorded = tmp_path / "leap.json"
  runs = [run_of(s, [0.0, 0.5], [4, 2]) for s in ("leap", "dense")]
  recorded.write_text(json.dumps({"runs": runs, "device": "cpu"}))
  pictures = []
  for name in ("a", "b"):
    arguments = [str(recorded), f"--out={tmp_path / 'out.json'}"]
    arguments.append(f"--plot={tmp_path / name}")
    monkeypatch.setattr(sys, "argv", ["leap_latency.py", *arguments])
    sweep.main()
    pictures.append((tmp_path / name).read_bytes())
  assert pictures[0] == pictures[1] and b"<svg" in pictures[0]
  written = json.loads((tmp_path / "out.json").read_text())
  assert written["recorded"]["device"] == "cpu" and len(written["points"]) > 9


def leave_warm_start(directory):
  (directory / "sft" / "2").mkdir(parents=True)
  (directory / "sft" / "2" / "state").write_text("weights")
  for name in ("corpus", "before", "new_tasks_before"):
    (directory / f"{name}.jsonl").write_text(name)
  (directory / "tokenizer.json").write_text("{}")
  (directory / "metrics.jsonl").write_text(
    '{"stage": "sft", "step": 0}\n{"stage": "rl", "step": 0}\n'
  )


def test_a_run_begins_from_the_warm_start_of_another(benchmarks, tmp_path):
  leap, _ = benchmarks
  warm = tmp_path / "warm-0"
  leave_warm_start(warm)
  leap.begin(tmp_path / "dense-0", warm)
  made = tmp_path / "dense-0"
  assert (made / "sft" / "2" / "state").read_text() == "weights"
  assert (made / "before.jsonl").read_text() == "before"
  assert [x["stage"] for x in leap.metrics.read(made / "metrics.jsonl")] == [
    "sft"
  ]
  assert not (made / "config.json").exists()  # It has its own.
  (made / "tokenizer.json").unlink()
  leap.begin(made, warm)  # Begun already: left alone.
  assert not (made / "tokenizer.json").exists()


def test_a_run_is_stopped_when_time_is_up_and_has_its_own_cache(
  benchmarks, monkeypatch, tmp_path
):
  leap, _ = benchmarks
  seen = []

  def fake(command, check, timeout, env):
    """Notes what would be run."""
    seen.append((command, timeout, env["JAXKERN_CACHE"]))
    if timeout:
      raise leap.subprocess.TimeoutExpired(command, timeout)

  monkeypatch.setattr(leap.subprocess, "run", fake)
  options = argparse.Namespace(device="cuda", rest=["--config.rl.prompts=4"])
  for_ever = float("inf")
  assert leap.train(tmp_path / "gate-1", "gate", 1, options, for_ever)
  later = leap.time.monotonic() + 100
  assert not leap.train(tmp_path / "warm-1", "warm", 1, options, later)
  (gate, no_limit, cache), (warm, limit, _) = seen
  assert no_limit is None and 0 < limit <= 100
  assert "--config=configs/leap.py:demo-gate" in gate
  assert gate[-1] == "--config.rl.prompts=4" and "--config.seed=1" in gate
  assert cache == str(tmp_path / "gate-1" / "cache")
  assert "--config=configs/leap.py:demo-leap" in warm
  assert warm[-1] == "--config.rl.steps=0"


def test_a_record_has_raw_metrics_of_runs_that_are_on_their_way(
  benchmarks, tmp_path
):
  leap, _ = benchmarks
  directory = tmp_path / "leap-0"
  directory.mkdir()
  (directory / "config.json").write_text('{"seed": 0}')
  (directory / "metrics.jsonl").write_text('{"stage": "rl", "step": 0}\n')
  out = tmp_path / "record.json"
  leap.gather(tmp_path, [("leap", 0), ("dense", 0)], {"device": "cpu"}, out)
  written = json.loads(out.read_text())
  assert written["finished"] == "0 of 2 runs" and written["table"] == []
  [run] = written["runs"]
  assert run["setting"] == "leap" and run["summary"] is None
  assert run["rl"] == [{"stage": "rl", "step": 0}]
