"""A whole run: corpus, warm start, reinforcement, and what they were worth."""

import contextlib
import json
import os
import pathlib
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from ml_collections import ConfigDict

from jaxkern import config as configs
from jaxkern import models
from jaxkern.data import corpus
from jaxkern.data.corpus import Example
from jaxkern.evaluator import Evaluator, Request
from jaxkern.learning import losses, mismatch
from jaxkern.learning import update as updates
from jaxkern.models import checkpoints
from jaxkern.rewards import rules
from jaxkern.rollout import prompts
from jaxkern.rollout.collect import Sampler
from jaxkern.tasks import suite
from jaxkern.tasks.task import Task, with_hidden_sizes
from jaxkern.tokenizer import Tokenizer
from jaxkern.training import evaluation, latency, report, retries, rl, sft
from jaxkern.training.checkpoint import Checkpoints
from jaxkern.training.metrics import Metrics

_TRAINING = ("sft", "rl")  # stages with checkpoints
# Where the rollouts of the evaluations lie.
FILES = {
  ("new_sizes", "before"): "before.jsonl",
  ("new_sizes", "after"): "after.jsonl",
  ("new_tasks", "before"): "new_tasks_before.jsonl",
  ("new_tasks", "after"): "new_tasks_after.jsonl",
}


def run(config: ConfigDict, workdir: str | os.PathLike, name: str) -> dict:
  """Runs all stages in `workdir`, or those that a former call left undone.

  Leaves corpus.jsonl, tokenizer.json, sft/ and rl/ (checkpoints),
  metrics.jsonl, the evaluations' rollouts (every sampled kernel with its
  verdict), summary.json and report.html; see docs/runs.md.

  Args:
    config: see configs/leap.py.
    workdir: of this config's run, made if missing.
    name: of the config, for the summary.

  Returns:
    The summary.

  Raises:
    ValueError: workdir holds a run of another config, or the config is wrong.
    OSError: workdir cannot be written.
  """
  workdir = pathlib.Path(workdir)
  configs.keep(config.to_dict(), workdir)
  clock = _Clock(workdir / "stage_seconds.json")
  resume = {stage: Checkpoints.latest(workdir / stage) for stage in _TRAINING}
  with Evaluator(
    config.device, compile_workers=config.compile_workers, seed=config.seed
  ) as evaluator:
    print(evaluator.describe(), flush=True)
    stages = _Stages(config, workdir, evaluator, clock)
    with Metrics(workdir, resume=resume) as metrics:
      params = stages.warm_start(metrics)
      before = stages.judge(params, "before")
      params = stages.reinforce(params, metrics)
    after = stages.judge(params, "after")
    device = evaluator.describe()
  summary = {
    "before": before["new_sizes"],
    "after": after["new_sizes"],
    "new_tasks": {"before": before["new_tasks"], "after": after["new_tasks"]},
    "seconds": sum(clock.seconds.values()),
    "stage_seconds": clock.seconds,
    "device": device,
    "seed": config.seed,
    "config": name,
  }
  _write(workdir / "summary.json", summary)
  print(table(summary), flush=True)
  print(f"report: {report.render(workdir)}", flush=True)
  return summary


class _Stages:
  """What a run consists of; each stage goes on where a former call left it."""

  def __init__(
    self,
    config: ConfigDict,
    workdir: pathlib.Path,
    evaluator: Evaluator,
    clock: "_Clock",
  ):
    """Writes or reads the corpus and the tokenizer."""
    self._config = config
    self._workdir = workdir
    self._evaluator = evaluator
    self._clock = clock
    self._rl = rl_options(config)
    with clock.stage("corpus"):
      names = suite.names(split="train")
      proposals = corpus.propose(names, config.seed, config.corpus.count)
      self._examples = corpus.verify(
        proposals, evaluator, workdir / "corpus.jsonl"
      )
    self._tokenizer = _tokenizer(workdir, self._examples, config)
    self._policy = make_policy(config, self._tokenizer)

  def warm_start(self, metrics: Metrics) -> Any:
    """Supervised training on the corpus; returns the parameters."""
    config = self._config
    with self._clock.stage("sft"):
      return sft.train(
        self._policy,
        self._examples,
        self._tokenizer,
        self._workdir / "sft",
        metrics,
        seed=config.seed,
        prompt_lengths=tuple(config.prompt_lengths),
        longest=config.model.max_new_tokens,
        microbatch=config.microbatch,
        shard_optimizer=config.get("shard_optimizer", False),
        conversation=config.conversation,
        **config.sft,
      )

  def reinforce(self, params: Any, metrics: Metrics) -> Any:
    """Reinforcement of `params`; returns the parameters."""
    config = self._config
    with self._clock.stage("rl"):
      return rl.train(
        self._sampler(params, config.rl_temperature),
        practised(config),
        latency.delayed(self._evaluate, **config.simulated),
        self._workdir / "rl",
        metrics,
        seed=config.seed,
        microbatch=config.microbatch,
        shard_optimizer=config.get("shard_optimizer", False),
        **self._rl,
      )

  def judge(self, params: Any, label: str) -> dict[str, dict]:
    """Pass rates on everything held out, by the names in FILES."""
    config = self._config
    rates = {}
    for what, tasks in held_out(config).items():
      with self._clock.stage(label):
        records = evaluation.evaluate_policy(
          self._sampler(params, config.evaluation.temperature),
          tasks,
          self._evaluate,
          self._workdir / FILES[what, label],
          seed=config.seed + 1,
          samples=config.evaluation[what].samples,
          turns=config.evaluation.turns,
          label=f"evaluating {label}, {what.replace('_', ' ')}",
        )
      rates[what] = evaluation.pass_rates(records, config.evaluation.turns)
    return rates

  def _sampler(self, params: Any, temperature: float) -> Sampler:
    return Sampler(
      self._policy,
      params,
      self._tokenizer,
      tuple(self._config.prompt_lengths),
      self._config.rows,
      temperature,
      self._config.conversation,
    )

  def _evaluate(self, pairs: Iterable) -> list:
    config = self._config
    requests = (
      Request(
        task,
        source,
        repetitions=config.repetitions,
        compile_timeout_s=config.compile_timeout_s,
        run_timeout_s=config.run_timeout_s,
      )
      for task, source in pairs
    )
    if config.device == "cuda" and config.repetitions:
      # Sampling on the same GPU would disturb the times.
      requests = list(requests)
    # Else judging begins while the rest is sampled.
    return self._evaluator.evaluate(requests)


def rl_options(config: ConfigDict) -> dict[str, Any]:
  """config.rl as arguments of `rl.train`: what it names is looked up.

  Raises:
    ValueError: a name that is unknown, or options that are not its own.
  """
  options = config.rl.to_dict()
  if options["staleness"] < 0:
    raise ValueError(
      f"staleness: expected at least 0, got {options['staleness']}"
    )
  if options["staleness"] and config.repetitions and config.device == "cuda":
    raise ValueError(
      "staleness: expected 0 where kernels are timed on cuda, as sampling would"
      f" disturb the times, got {options['staleness']}"
    )
  latency.check(**config.simulated)
  retries.check(**options["retry"])
  if not options["retry"]["capacity"]:
    options["retry"] = None
  towards = options.pop("kl_to")
  if towards not in ("sampler", "start"):
    raise ValueError(f"kl_to: expected sampler or start, got {towards}")
  options["reference"] = bool(options["kl"]) and towards == "start"
  options["rule"] = rules.make(**options["rule"])
  options["score"] = rules.score(options["score"])
  lengths = {"length": config.model.max_new_tokens, "tokens": None}
  if config.rl.normalise not in lengths:
    raise ValueError(
      f"normalise: expected length or tokens, got {config.rl.normalise}"
    )
  options["loss"] = updates.reinforce(
    objective=configs.choose(
      "objective", losses.OBJECTIVES, **options.pop("objective")
    ),
    keep=configs.choose("keep", mismatch.KEEP, **options.pop("keep")),
    kl=options.pop("kl"),
    length=lengths[options.pop("normalise")],
  )
  return options


def practised(config: ConfigDict) -> list[str]:
  """The training tasks that reinforcement is about: a seed's random choice."""
  names = suite.names(split="train")
  rng = np.random.default_rng((config.seed, 3))
  return [names[i] for i in sorted(rng.permutation(len(names))[: config.tasks])]


def held_out(config: ConfigDict) -> dict[str, list[Task]]:
  """What a policy is judged on: the practised tasks on sizes it never met, and
  tasks it never met."""
  test = suite.names(split="test")[: config.evaluation.new_tasks.tasks]
  return {
    "new_sizes": [with_hidden_sizes(suite.get(n)) for n in practised(config)],
    "new_tasks": [suite.get(name) for name in test],
  }


def table(summary: dict) -> str:
  """Pass rates before and after, with intervals."""
  turns = [k for k in summary["before"] if k.endswith(tuple("123456789"))]
  lines = [" " * 20 + "".join(f"{turn:>22}" for turn in turns)]
  for what, rates in (("sizes", summary), ("tasks", summary["new_tasks"])):
    for when in ("before", "after"):
      cells = ""
      for turn in turns:
        low, high = rates[when][f"{turn}_interval"]
        value = rates[when][turn]
        cell = f"{100 * value:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
        cells += f"{cell:>22}"
      lines.append(f"{f'new {what}, {when}':<20}{cells}")
  return "\n".join(
    [
      *lines,
      "% of kernels that passed by that turn, with 95 % intervals; before and",
      "after reinforcement. New sizes: practised tasks on sizes never run in "
      f"training, {summary['after']['n']} kernels.",
      "New tasks: tasks in no part of the training, "
      f"{summary['new_tasks']['after']['n']} kernels. "
      f"{summary['seconds']:.0f} s in all.",
    ]
  )


def make_policy(config: ConfigDict, tokenizer: Tokenizer) -> models.Policy:
  """The policy of a run."""
  return models.make(
    config.model,
    vocab_size=tokenizer.vocab_size,
    end_id=tokenizer.end_ids,
    pad_id=tokenizer.pad_id,
  )


def load(workdir: str | os.PathLike) -> tuple[ConfigDict, Tokenizer, Any]:
  """The config, tokenizer and latest parameters of a run.

  Raises:
    ValueError: the directory holds no run, or none that has trained yet.
  """
  workdir = pathlib.Path(workdir)
  if not (workdir / "config.json").exists():
    raise ValueError(f"checkpoint: expected a run's directory, got {workdir}")
  config = ConfigDict(json.loads((workdir / "config.json").read_text()))
  for stage in reversed(_TRAINING):
    if Checkpoints.latest(workdir / stage):
      tokenizer = _tokenizer(workdir, (), config)
      with Checkpoints(workdir / stage) as checkpoints:
        state = checkpoints.restore(None)[1]
      return config, tokenizer, state["params"]
  raise ValueError(f"checkpoint: the run in {workdir} has not trained yet")


def _tokenizer(
  workdir: pathlib.Path, examples: Sequence[Example], config: ConfigDict
) -> Tokenizer:
  """The checkpoint's, or one trained on the corpus as the policy will see it.

  Trained only once; a checkpoint's is read where it is.
  """
  if config.model.get("checkpoint"):
    _, text = checkpoints.describe(config.model.checkpoint)
    if text is None:
      raise ValueError(
        f"{config.model.checkpoint}: expected a tokenizer, got none"
      )
    return text.framed()
  path = workdir / "tokenizer.json"
  if not path.exists():
    if not examples:
      raise ValueError("corpus: no kernel of the corpus passed the evaluator")
    Tokenizer.train(_texts(examples), config.vocab_size).save(path)
  return Tokenizer.load(path)


def _texts(examples: Sequence[Example]) -> Iterator[str]:
  for example in examples:
    task = suite.get(example.task)
    yield prompts.first_turn(task) + example.source
    if example.attempt is not None:
      yield prompts.next_turn(
        task, example.attempt, example.status, example.log
      )


def _write(path: pathlib.Path, values: dict) -> None:
  temporary = path.with_suffix(".tmp")
  temporary.write_text(json.dumps(values, indent=2) + "\n")
  temporary.rename(path)


class _Clock:
  """Seconds by stage, summed over the calls that a run took."""

  def __init__(self, path: pathlib.Path):
    self._path = path
    self.seconds: dict[str, float] = (
      json.loads(path.read_text()) if path.exists() else {}
    )

  @contextlib.contextmanager
  def stage(self, name: str) -> Iterator[None]:
    """Adds the seconds of a block to a stage; kept if the run is killed."""
    start = time.monotonic()
    try:
      yield
    finally:
      spent = time.monotonic() - start
      self.seconds[name] = self.seconds.get(name, 0.0) + spent
      _write(self._path, self.seconds)
