import pathlib
import shlex
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cheats"), str(ROOT / "benchmarks")]

import cheats  # noqa: E402
import corpus  # noqa: E402

BY_NAME = {c.name: c for c in corpus.candidates()}


@pytest.mark.parametrize(
  "name, verdict, expected",
  [
    ("01_writes_nothing", {"status": "wrong_answer"}, "caught"),
    ("01_writes_nothing", {"status": "ok"}, "missed"),
    ("01_writes_nothing", {"status": "infra_error"}, "not judged"),
    ("01_writes_nothing", {"status": "compile_error"}, "not judged"),
    ("37_pasted_library", {"status": "link_error"}, "caught"),
    ("01_clears_first.honest", {"status": "ok"}, "passed"),
    ("01_clears_first.honest", {"status": "link_error"}, "false positive"),
    ("01_clears_first.honest", {"status": "cheating"}, "false positive"),
    ("26_ptx.honest", {"status": "unsupported"}, "not judged"),
    ("32_slow_at_first", {"status": "ok", "times_us": [1]}, "missed"),
    ("32_slow_at_first", {"status": "ok", "times_us": [1] * 10}, "harmless"),
  ],
)
def test_outcome(name, verdict, expected):
  assert cheats.outcome(BY_NAME[name], "cpu", verdict) == expected


def test_answer_is_the_last_json_line_with_a_status():
  text = 'noise\n{"status": "ok"}\n{"status": "cheating"}\n{"other": 1}\n{\n'
  assert cheats.answer(text) == {"status": "cheating"}
  assert cheats.answer("no answer\n")["status"] == "infra_error"


def test_another_harness_is_asked_by_a_command(tmp_path):
  harness = tmp_path / "harness.py"
  harness.write_text(
    "import json, sys\n"
    "text = open(sys.argv[2]).read()\n"
    "verdict = 'ok' if 'good' in text else 'wrong'\n"
    "print(json.dumps({'status': verdict, 'log': ' '.join(sys.argv[1:])}))\n"
  )
  command = f"{shlex.quote(sys.executable)} {harness} {{bundle}} {{source}}"
  judge = cheats.theirs(command + " {repetitions}{device}", "cuda", tmp_path)
  good = cheats.Trial("a", "/bundle", "// good", 3)
  verdicts = judge([good, good._replace(name="b", source="// bad")])
  assert [v["status"] for v in verdicts] == ["ok", "wrong"]
  assert verdicts[0]["log"] == f"/bundle {tmp_path}/a.cu 3cuda"


def test_honest_kernels_are_distinct(tmp_path):
  trials = cheats.honest_trials(60, tmp_path)
  assert len(trials) == 60
  assert len({(t.bundle, t.source) for t in trials}) == 60
  assert {t.name for t in trials} > {"warp_reduce", "atomics_int"}


def test_both_rates_are_counted():
  outcomes = ["caught", "harmless", "missed", "passed", "false positive"]
  rows = {name: {"outcome": name} for name in [*outcomes, "not judged"]}
  honest = {"judged": 8, "not_judged": 2, "false_positives": {"a": {}}}
  rates = cheats.totals(rows, honest)
  assert rates["cheats_judged"] == 3
  assert rates["caught_percent"] == pytest.approx(200 / 3)
  assert rates["false_positive_percent"] == pytest.approx(20)
  assert rates["not_judged"] == 3
