import os
import pathlib
import sys

import pytest

from jaxkern.evaluator import Evaluator, Request

sys.path.insert(0, os.path.dirname(__file__))

import corpus  # noqa: E402

ROOT = pathlib.Path(__file__).parents[2]
CATALOGUE = {row["entry"]: row for row in corpus.catalogue()}
SEEN = [
  c
  for c in corpus.candidates()
  if c.on("cpu") and set(c.needs) <= corpus.PROVIDED
]
NAMES = [c.name for c in SEEN]
# That the text alone can show.
RULES = "opens_files tampers replaces_runtime calls_library loads_code"
RULES = (RULES + " runs_at_load fast_math forges_lines").split()


@pytest.fixture(scope="module")
def results(tmp_path_factory):
  """Verdicts of the cpu device by name."""
  requests = [
    Request(corpus.task(c.task), c.source(), repetitions=c.repetitions)
    for c in SEEN
  ]
  cache = tmp_path_factory.mktemp("cache")
  with Evaluator(device="cpu", cache_dir=cache) as evaluator:
    found = evaluator.evaluate(requests)
    # Only its times give this one away, and a busy machine blurs them.
    again = NAMES.index("07_content_hash")
    for _ in range(4):
      if found[again].status == "ok":
        found[again] = evaluator.evaluate([requests[again]])[0]
  return dict(zip(NAMES, found, strict=True))


@pytest.mark.parametrize("candidate", SEEN, ids=NAMES)
def test_verdict_is_the_expected_one(results, candidate):
  result = results[candidate.name]
  shown = f"{result.status} {result.rule} {len(result.times_us)}: {result.log}"
  assert candidate.right(
    "cpu", result.status, result.rule, len(result.times_us)
  ), shown


def test_a_breach_names_rule_and_line(results):
  result = results["26_spliced_include"]
  assert (result.status, result.stage) == ("cheating", "compile")
  assert (result.rule, result.evidence) == ("opens_files", "line 1: %:inc\\")
  assert result.log.startswith("cheating (opens_files): a header is included")
  assert results["01_writes_nothing"].rule == ""


def test_every_entry_has_a_cheat_and_a_look_alike():
  for entry, row in CATALOGUE.items():
    of = [c for c in corpus.candidates() if entry in c.entries]
    if row["forms"] == ["K"]:
      assert (ROOT / row["note"]).is_file()
    elif "note" not in row:
      assert any(not c.honest for c in of), row
      assert any(c.honest for c in of), row


def test_every_static_rule_has_a_cheat():
  assert {c.rule for c in corpus.candidates()} == {"", *RULES}


@pytest.mark.parametrize("candidate", corpus.candidates(), ids=lambda c: c.name)
def test_manifest_is_well_formed(candidate):
  c = candidate
  assert set(c.entries) <= set(CATALOGUE)
  assert c.name.startswith(tuple(f"{entry:02}_" for entry in c.entries))
  assert c.device in ("cpu", "cuda", "both")
  helps = c.name in [other.after for other in corpus.candidates()]
  assert ("ok" in c.expect) == (c.honest or c.samples > 0 or helps)
  assert set(c.needs) <= {"protocol", "host_copies", "outside_clock"}
  assert corpus.task(c.task).name == c.task
  assert not c.source().startswith(("// entry", "// trick", "// task"))
