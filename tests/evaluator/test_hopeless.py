"""Nothing is refused by its text that a compiler would take."""

import pathlib
import re
import statistics
import subprocess
import time

import numpy as np
import pytest

from jaxkern import evaluator as module
from jaxkern._core import find_hopeless
from jaxkern.data import corpus
from jaxkern.evaluator import Request
from jaxkern.tasks import suite

from .conftest import KERNEL

TESTS = pathlib.Path(__file__).parent.parent
INCLUDE = pathlib.Path(module._core.__file__).parent / "_native/include"


def texts_of(folder):
  """Complete candidates, as they lie there."""
  return {p.name: p.read_text() for p in sorted((TESTS / folder).glob("*.cu"))}


def proposals(count=1500):
  return corpus.propose(suite.names("train"), seed=1, count=count)


def compiles(source, tmp_path):
  """Whether g++ takes it; launches become calls, for it knows none."""
  file = tmp_path / "kernel.cc"
  file.write_text(re.sub(r"<<<[^;]*?>>>", "", source, flags=re.DOTALL))
  command = ["g++", "-std=c++17", "-fsyntax-only", "-w", f"-I{INCLUDE}"]
  command += ["-include", "cuda_runtime.h", str(file)]
  return subprocess.run(command, capture_output=True).returncode == 0


def mutilate(source, rng):
  """Cut off somewhere, or one of the characters that matter lost or doubled."""
  if rng.random() < 0.4:
    return source[: rng.integers(len(source))]
  places = [m.start() for m in re.finditer(r"[()\[\]{}\"'/*\\]", source)]
  at = places[rng.integers(len(places))]
  if rng.random() < 0.5:
    return source[:at] + source[at + 1 :]
  return source[:at] + source[at] + source[at:]


@pytest.mark.parametrize("folder", ["conformance", "cheats/corpus"])
def test_no_candidate_of_a_corpus_is_hopeless(folder):
  texts = texts_of(folder)
  assert len(texts) > 50
  assert {n for n, text in texts.items() if find_hopeless(text)} == set()


def test_no_generated_kernel_is_hopeless():
  sources = [p.source for p in proposals()]
  sources += [suite.get(name).baseline for name in suite.names()]
  assert [s for s in sources if find_hopeless(s)] == []


def test_a_compiler_agrees_about_broken_kernels(tmp_path):
  attempts = [p.attempt for p in proposals() if p.attempt is not None]
  refused = [a for a in attempts if find_hopeless(a)]
  assert len(refused) > 20
  assert compiles(KERNEL, tmp_path)
  assert [a for a in refused[:25] if compiles(a, tmp_path)] == []


def test_a_compiler_agrees_about_mutilated_kernels(tmp_path):
  rng = np.random.default_rng(7)
  sources = list(texts_of("conformance").values())
  sources += [p.source for p in proposals(100)]
  refused = []
  for _ in range(400):
    text = mutilate(sources[rng.integers(len(sources))], rng)
    found = find_hopeless(text)
    if found and found[0] == "compile_error":
      refused.append(text)
  assert len(refused) > 100
  picked = rng.choice(len(refused), 60, replace=False)
  wrong = [refused[i] for i in picked if compiles(refused[i], tmp_path)]
  assert wrong == []


def test_a_rejection_takes_microseconds_and_no_compiler(evaluator, task):
  before = evaluator.stats()
  cut = KERNEL[: KERNEL.index("return")]
  result = evaluator.evaluate([Request(task, cut)])[0]
  assert (result.status, result.stage) == ("compile_error", "compile")
  line = cut[: cut.rindex("{")].count("\n") + 1
  assert result.log.startswith(f"line {line}: '{{' is never closed")
  after = evaluator.stats()
  assert after["rejected"] == before["rejected"] + 1
  assert after["cache_misses"] == before["cache_misses"]
  samples = []
  for _ in range(200):
    start = time.perf_counter()
    find_hopeless(cut)
    samples.append(time.perf_counter() - start)
  assert statistics.median(samples) < 2e-3
