"""The settings of configs/leap.py, and the loop under each of them."""

import numpy as np
import pytest
import small_loop
from small_loop import CONFIG, evaluate, options_of

from jaxkern.training import rl, run
from jaxkern.training.metrics import Metrics, read

SETTINGS = list(CONFIG._settings(8))


@pytest.fixture(scope="module")
def sampler():
  return small_loop.make_sampler()


def differences(variant):
  """What a variant's config has unlike LEAP's, by dotted name."""
  ours = CONFIG.get_config(variant).to_dict()
  leap = CONFIG.get_config(variant.partition("-")[0]).to_dict()
  found = {k: v for k, v in ours["rl"].items() if v != leap["rl"][k]}
  found |= {k: v for k, v in ours.items() if k != "rl" and v != leap[k]}
  return found


@pytest.mark.parametrize(
  ("setting", "wanted"),
  [
    ("leap", {}),
    (
      "dense",
      {"t_min": 0, "t_max": 8, "rule": {"name": "trloo", "gamma": 1.0}},
    ),
    ("single", {"turns": 1, "rule": {"name": "grpo"}}),
    ("gate", {"rule": {"name": "trloo", "gamma": 1.0}}),
    ("tournament", {"t_min": 0, "t_max": 8}),
    ("below_half", {"t_min": 1, "t_max": 3}),
    ("half_up", {"t_max": 8}),
    ("all", {"t_min": 0, "t_max": 8}),
  ],
)
def test_a_setting_changes_what_it_is_about_and_nothing_else(setting, wanted):
  assert differences(f"demo-{setting}") == wanted


def test_kl_is_to_where_reinforcement_began_if_asked_for():
  config = CONFIG.get_config("tiny")
  assert not run.rl_options(config)["reference"]
  config.rl.kl_to = "start"
  assert not run.rl_options(config)["reference"]  # Of no weight.
  config.rl.kl = 0.1
  assert run.rl_options(config)["reference"]


def test_below_half_and_half_up_part_every_group_size():
  for size in (2, 3, 7, 8):
    known = CONFIG._settings(size)
    low, high = known["below_half"], known["half_up"]
    for failures in range(1, size + 1):
      gated = [s["t_min"] <= failures <= s["t_max"] for s in (low, high)]
      assert gated == [failures < size / 2, failures >= size / 2]


def test_an_unknown_setting_is_refused():
  with pytest.raises(ValueError, match="expected one of leap, dense.*got deep"):
    CONFIG.get_config("demo-deep")


@pytest.mark.parametrize(
  ("changes", "said"),
  [
    ({"rule": {"name": "x"}}, "rule: expected one of tournament"),
    ({"kl_to": "end"}, "kl_to: expected sampler or start, got end"),
    ({"normalise": "rows"}, "normalise: expected length or tokens, got rows"),
    ({"keep": {"name": "mean_absolute"}}, r"keep mean_absolute: .*delta"),
    ({"objective": {"name": "clipped"}}, r"clipped: .*eps_high"),
  ],
)
def test_what_a_config_names_wrongly_is_said_before_anything_runs(
  changes, said
):
  config = CONFIG.get_config("tiny")
  for name, value in changes.items():
    config.rl[name] = value
  with pytest.raises(ValueError, match=said):
    run.rl_options(config)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_loop_runs_with_every_setting(setting, sampler, tmp_path):
  with Metrics(tmp_path, resume={"rl": 0}) as metrics:
    options = options_of(setting)
    rl.train(
      sampler,
      ["relu", "tanh", "silu"],
      evaluate,
      tmp_path / "rl",
      metrics,
      **options,
    )
  lines = read(tmp_path / "metrics.jsonl")
  assert [line["step"] for line in lines] == [0, 1]
  for line in lines:
    assert all(np.isfinite(v) for k, v in line.items() if k != "stage")
    assert (f"pass@{options['turns']}") in line
