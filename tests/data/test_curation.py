"""Curation with verdicts that are made up: what is kept, counted, continued."""

import errno
import json
import resource

import pyarrow.parquet
import pytest

from jaxkern.data import curation, publication
from jaxkern.data.contamination import Detector, Evaluated
from jaxkern.data.curation import Bars
from jaxkern.data.sources import Candidate, Malformed
from jaxkern.tasks import suite

ASKED = {
  "device": "cpu",
  "sizes": "task",
  "seeds": 2,
  "repetitions": 10,
  "timed_variants": 2,
  "run_timeout_s": 9.0,
}
TASKS = {name: suite.get(name) for name in ("relu", "row_sum", "add_gelu")}


def kernel(number, words="abcdefgh"):
  """Texts that are no duplicates of each other."""
  body = " ".join(f"{w}{number} += {w * 2}{number};" for w in words)
  return f"__global__ void k{number}() {{ {body} }}"


def row(task, number, **more):
  origin = {"source": "jsonl", "row": number}
  return Candidate(task, more.get("reference", ""), kernel(number), origin)


def verdict(stage="done", status="ok", speedup=3.0, **more):
  return {
    "stage": stage,
    "status": status,
    "log": "said so\nand more",
    "rule": "",
    "raw_status": status,
    "device": "cpu: test",
    "times_us": [2.0, 1.0, 3.0],
    "baseline_us": 2.0 * speedup,
    "speedup": speedup if stage == "done" else 0.0,
    "speedup_low": 0.0,
    "speedup_high": 0.0,
    "checked_sizes": [{"n": 3}],
    "kinds": ["zeros and ties"],
    "seeds": [1, 2],
    "timed_size": {"n": 9},
    **more,
  }


def judged_by(verdicts, asked):
  """A judge_all that looks a row's number up and notes what it was asked."""

  def judge_all(pending, total, tasks, settings, workdir, keep, limit_s):
    for candidate in pending:
      asked.append(candidate.origin["row"])
      made = verdicts.get(candidate.origin["row"], verdict())
      if made["status"] != "infra_error":
        keep(candidate, made)

  return judge_all


def curate(workdir, rows, verdicts=None, asked=None, bars=None, evaluated=()):
  return curation.curate(
    rows,
    TASKS,
    Detector(evaluated, 6, 0.6),
    workdir,
    settings=curation.fixed_settings(workdir, ASKED),
    bars=bars or Bars(),
    judge_all=judged_by(verdicts or {}, [] if asked is None else asked),
  )


def lines(path):
  return [json.loads(line) for line in path.read_text().splitlines()]


def table(workdir, name="kept"):
  return pyarrow.parquet.read_table(workdir / f"data/{name}.parquet")


@pytest.fixture
def fallen(tmp_path):
  """A summary, and who is rejected: somebody falls at every stage."""
  rows = [
    Malformed({"source": "jsonl", "row": 1}, "not JSON: at 3"),
    Candidate("relu", "", "", {"source": "jsonl", "row": 2}),
    *(row("relu", k) for k in range(3, 12)),
    row("relu", 3),
    row("add_gelu", 20),
  ]
  verdicts = {
    3: verdict("compile", "compile_error"),
    4: verdict("check", "wrong_answer"),
    5: verdict("honest", "cheating", rule="skipped_work", raw_status="ok"),
    6: verdict("time", "untimed"),
    7: verdict(speedup=1.6),
    8: verdict(speedup=0.7),
    9: verdict("check", "infra_error"),
  }
  held_out = [Evaluated("add_gelu", "y = z")]
  made = curate(tmp_path, rows, verdicts, evaluated=held_out)
  rejected = lines(tmp_path / "rejected.jsonl")
  return made, {(r["stage"], r["row"]): r["reason"] for r in rejected}


def test_the_funnel_counts_who_falls_where(fallen):
  made, told = fallen
  assert list(made["counts"].values()) == [
    13,
    12,
    11,
    10,
    9,
    8,
    7,
    6,
    5,
    4,
    2,
    2,
  ]
  assert list(made["counts"]) == list(publication.FUNNEL)
  assert made["unjudged"] == 1 and made["rules"] == {"skipped_work": 1}
  assert made["cheats_that_pass_without_rules"] == 1
  assert {k: t["samples"] for k, t in made["tiers"].items()} == {
    "2.0": 2,
    "1.5": 1,
    "1.0": 0,
  }


def test_whoever_falls_is_listed_with_a_reason(fallen):
  _, told = fallen
  assert told["malformed", 1] == "not JSON: at 3"
  assert told["extract", 2].startswith("no __global__")
  assert told["distinct", 3].startswith("the same kernel")
  assert told["contaminated", 20] == "name of add_gelu"
  assert told["compile", 3] == "compile_error: said so"
  assert told["honest", 5] == "cheating: said so"
  assert ("done", 8) not in told and len(told) == 8


def test_a_sample_says_what_it_is_and_how_it_was_judged(tmp_path):
  module = (
    "import torch\nclass Model(torch.nn.Module):\n"
    "  def forward(self, x):\n    return torch.relu(x + 1).view(-1)\n"
  )
  pair = row("", 2, reference=module)
  curate(tmp_path, [row("row_sum", 1), pair])
  ours, theirs = sorted(
    table(tmp_path).to_pylist(), key=lambda r: not r["task"]
  )
  assert ours["task"] == "row_sum" and ours["kernel"] == kernel(1)
  assert ours["statement"] == "y = jnp.sum(x, axis=-1)"
  assert ours["signature"].startswith('extern "C" int launch(const float* x')
  assert (ours["operations"], ours["level"], ours["tier"]) == (1, 1, 2.0)
  assert ours["times_us"] == [2.0, 1.0, 3.0] and ours["median_us"] == 2.0
  assert ours["device"] == "cpu: test" and ours["checked_seeds"] == 2
  assert json.loads(ours["origin"]) == {"source": "jsonl", "row": 1}
  assert theirs["statement"] == module and theirs["operations"] == 2
  assert theirs["family"] == "pytorch" and theirs["level"] is None


def test_of_near_duplicates_the_fastest_stays(tmp_path):
  slow, fast = row("relu", 1), row("relu", 2)
  fast = fast._replace(kernel=kernel(1) + " // tuned")
  other = row("row_sum", 3)._replace(kernel=kernel(1))
  made = curate(
    tmp_path,
    [slow, fast, other],
    {1: verdict(speedup=2.5), 2: verdict(speedup=4)},
  )
  assert made["near_duplicates"] == 1
  kept = {(r["task"], r["speedup"]) for r in table(tmp_path).to_pylist()}
  assert kept == {("relu", 4.0), ("row_sum", 3.0)}
  last = lines(tmp_path / "rejected.jsonl")[-1]
  assert last["stage"] == "duplicate" and fast.key in last["reason"]


def test_a_bar_is_for_what_is_sure(tmp_path):
  noisy = verdict(speedup=9.0, speedup_low=1.6, speedup_high=20.0)
  firm = verdict(speedup=2.1, speedup_low=2.0, speedup_high=2.2)
  curate(tmp_path, [row("relu", 1), row("relu", 2)], {1: noisy, 2: firm})
  assert table(tmp_path)["speedup"].to_pylist() == [2.1]
  assert table(tmp_path, "tier_1.5")["speedup"].to_pylist() == [9.0]


def test_what_has_a_verdict_is_not_judged_again(tmp_path):
  rows, asked = [row("relu", k) for k in range(6)], []
  gone = {3: verdict("check", "infra_error")}
  first = curate(tmp_path, rows[:4], gone, asked)
  assert (asked, first["unjudged"]) == ([0, 1, 2, 3], 1)
  made = curate(tmp_path, rows, {}, asked, Bars(keep=4.0, lower=(1.0,)))
  assert asked == [0, 1, 2, 3, 3, 4, 5]
  assert made["counts"]["kept"] == 0 and made["tiers"]["1.0"]["samples"] == 6
  # A source that is gone takes its samples along, and no verdict.
  made = curate(tmp_path, rows[:2], {}, asked)
  assert made["counts"]["kept"] == 2 and len(asked) == 7
  assert curate(tmp_path, rows, {}, asked)["counts"]["kept"] == 6


def test_a_directory_is_kept_to_its_settings(tmp_path):
  settings = curation.fixed_settings(tmp_path, ASKED)
  assert len(set(settings.seeds)) == 2
  assert curation.fixed_settings(tmp_path, ASKED) == settings
  other = curation.fixed_settings(tmp_path, {**ASKED, "seeds": 1})
  assert len(other.seeds) == 1  # Nothing is judged yet.
  curate(tmp_path, [row("relu", 1)])
  with pytest.raises(ValueError, match="sizes: expected 'task' .* got 'large'"):
    curation.fixed_settings(tmp_path, {**ASKED, "sizes": "large"})
  with pytest.raises(ValueError, match="seeds: expected 2 .* got 3"):
    curation.fixed_settings(tmp_path, {**ASKED, "seeds": 3})
  with pytest.raises(ValueError, match="lower: expected bars below 2.0"):
    curate(tmp_path, [], bars=Bars(2.0, (3.0,)))


def test_no_candidate_at_all_is_an_empty_set(tmp_path):
  made = curate(tmp_path, [])
  assert made["counts"]["kept"] == 0 and table(tmp_path).num_rows == 0
  assert (tmp_path / "plots/speedup.png").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize("limit", [500, 6000, 30_000])
def test_on_a_full_disk_nothing_verified_is_lost(tmp_path, limit):
  """Files may not grow beyond the limit: first verdicts, then the set fail."""
  rows = [row("relu", k) for k in range(40)]
  before, asked = resource.getrlimit(resource.RLIMIT_FSIZE), []
  settings = curation.fixed_settings(tmp_path, ASKED)
  resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
  try:
    with pytest.raises(OSError) as caught:
      curate(tmp_path, rows, asked=asked)
  finally:
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
  assert caught.value.errno == errno.EFBIG
  kept = [r["key"] for r in lines(tmp_path / "verdicts.jsonl")]
  # Of those that were asked, at most the one that found no room is not kept.
  assert len(kept) == len(asked) - (limit < 20_000) and len(kept) < 41
  assert not list(tmp_path.rglob("*.new"))
  again = []
  made = curate(tmp_path, rows, asked=again)
  assert len(again) == 40 - len(kept) and made["counts"]["kept"] == 40
  written = [r["key"] for r in lines(tmp_path / "verdicts.jsonl")]
  assert written[: len(kept)] == kept and len(set(written)) == 40
  assert table(tmp_path).num_rows == 40
  assert curation.fixed_settings(tmp_path, ASKED) == settings
