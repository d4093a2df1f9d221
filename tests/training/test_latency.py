"""The simulated sandbox: its arithmetic, and that verdicts do wait."""

from types import SimpleNamespace

import pytest
from small_loop import CONFIG

from jaxkern.training import latency, run


@pytest.mark.parametrize(
  ("kernels", "sampling", "wanted"),
  [
    (0, 3.0, 3.0),
    (1, 3.0, 5.0),  # The last that is sampled takes its 2 s.
    (4, 3.0, 5.0),
    (9, 3.0, 6.0),  # Three rounds of 4 verifiers.
  ],
)
def test_a_turn_takes_rounds_or_its_last_kernel(kernels, sampling, wanted):
  assert latency.seconds(kernels, sampling, 2.0, 4) == wanted


def test_verdicts_wait_and_equal_kernels_count_once():
  slept = []
  task = SimpleNamespace(name="relu")
  slow = latency.delayed(
    lambda pairs: [source for _, source in pairs], 100.0, 2, slept.append
  )
  assert slow(iter([(task, "a"), (task, "a"), (task, "b")])) == ["a", "a", "b"]
  assert slept == [pytest.approx(100, abs=1)]
  slow(iter([(task, "a"), (task, "c"), (task, "b")]))
  assert slept[1] == pytest.approx(200, abs=1)


def test_what_took_longer_anyway_does_not_wait():
  slept = []
  task = SimpleNamespace(name="relu")
  slow = latency.delayed(lambda pairs: list(pairs), 1e-9, 1, slept.append)
  slow(iter([(task, "a")]))
  assert slept == [0.0]


def test_without_latency_the_evaluator_is_left_alone():
  evaluate = object()
  assert latency.delayed(evaluate, 0.0, 16) is evaluate


@pytest.mark.parametrize(
  ("changes", "said"),
  [
    ({"simulated.verifiers": 0}, "verifiers >= 1, got 0 and 0"),
    ({"simulated.latency_s": -1.0}, "latency_s >= 0.*got -1 and 16"),
    ({"rl.staleness": -1}, "staleness: expected at least 0, got -1"),
    (
      {"rl.staleness": 1, "repetitions": 3, "device": "cuda"},
      "staleness: expected 0 where kernels are timed on cuda",
    ),
  ],
)
def test_what_cannot_be_is_refused(changes, said):
  config = CONFIG.get_config("tiny")
  config.update_from_flattened_dict(changes)
  with pytest.raises(ValueError, match=said):
    run.rl_options(config)
