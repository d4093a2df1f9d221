"""Multi-turn rollouts in groups, with a gate before every expansion.

Fixed letters: P prompt tokens, T completion tokens, G group, K turns.
"""

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxkern.models.policy import Policy
from jaxkern.rollout import prompts
from jaxkern.tasks.task import Task
from jaxkern.tokenizer import Tokenizer

# (task, source) pairs to results, in order. The pairs come as they are written:
# who draws one may have it judged while the next are being sampled. A result
# has status and log; its compile_s, queue_s and run_s are added up.
Evaluate = Callable[[Iterable[tuple[Task, str]]], Sequence[Any]]


class Turn(NamedTuple):
  """One completion and its verdict.

  Attributes:
    prompt: token ids, unpadded.
    tokens, mask, log_probs: [T] as in `Sampled`.
    trace: this row's part of `Sampled.trace`.
    source: the kernel taken from the completion.
    result: the evaluator's.
  """

  prompt: list[int]
  tokens: np.ndarray
  mask: np.ndarray
  log_probs: np.ndarray
  trace: Any
  source: str
  result: Any


class Rollout(NamedTuple):
  """The turns of one attempt at a task; all but the last failed."""

  task: str
  turns: tuple[Turn, ...]

  @property
  def success_turn(self) -> float:
    """k_i: the turn that passed, counted from 1; infinity if none did."""
    passed = self.turns[-1].result.status == "ok"
    return len(self.turns) if passed else math.inf


class Seconds(NamedTuple):
  """Where the time went: two wall-clock parts, three sums over kernels.

  What is judged while others are being sampled takes none of the second. Equal
  kernels of a turn are judged once, and count once.
  """

  sampling: float
  evaluating: float
  compiling: float
  queueing: float
  running: float


class Sampler(NamedTuple):
  """A policy with what it takes to write text with it.

  Attributes:
    policy: the pure functions.
    params: its parameters.
    tokenizer: text to tokens and back.
    prompt_lengths: P that prompts are padded to; each costs one compilation.
    rows: prompts per call of `policy.sample`.
    temperature: of sampling.
    conversation: whether a turn reads all that was said before, of which
      nothing is computed again, instead of the latest attempt alone. One that
      has become too long for prompt_lengths begins anew with the latest.
  """

  policy: Policy
  params: Any
  tokenizer: Tokenizer
  prompt_lengths: tuple[int, ...]
  rows: int
  temperature: float
  conversation: bool = False


def collect(
  sampler: Sampler,
  key: jax.Array,
  tasks: Sequence[Task],
  evaluate: Evaluate,
  *,
  group_size: int,
  turns: int,
  gate: Callable[[int], bool],
  begun: Sequence[Any] | None = None,
) -> tuple[list[list[Rollout]], Seconds]:
  """Rolls out G completions per task, then repairs where the gate allows.

  Turn 1 is sampled for all. A group is expanded if gate(first-turn failures)
  holds; its failed rollouts are shown their attempt and the verdict and write
  again, at most K turns in all, until they pass (LEAP's difficulty-conditioned
  pruning, arXiv 2608.01804). A gate that always holds is dense multi-turn.

  Args:
    sampler: who writes.
    key: all randomness.
    tasks: one group each; the same task may occur twice.
    evaluate: the verdicts.
    group_size: G.
    turns: K.
    gate: of the number of first-turn failures in a group.
    begun: for each task None, or a failed attempt that turn 1 is shown: its
      source, status and log.

  Returns:
    Groups in the order of tasks, and the seconds spent.
  """
  rollouts = [Rollout(t.name, ()) for t in tasks for _ in range(group_size)]
  begun = begun or [None] * len(tasks)
  active = list(range(len(rollouts)))
  spent = np.zeros(5)
  said: dict[int, tuple[Any, int]] = {}
  for turn in range(turns):
    asked = [
      _prompt(
        sampler,
        tasks[i // group_size],
        rollouts[i],
        begun[i // group_size],
        said.get(i),
      )
      for i in active
    ]
    said = {}
    start = time.monotonic()
    writing = _Writing(
      _write(
        sampler,
        jax.random.fold_in(key, turn),
        asked,
        group_size if turn == 0 else 1,
        said if sampler.conversation and turn + 1 < turns else None,
      ),
      [tasks[i // group_size] for i in active],
    )
    results = evaluate(writing)
    spent += (
      writing.seconds,
      time.monotonic() - start - writing.seconds,
      *_judging_seconds(writing.sources, results),
    )
    for (k, one), result in zip(writing.written, results, strict=True):
      i = active[k]
      rollouts[i] = rollouts[i]._replace(
        turns=(*rollouts[i].turns, one._replace(result=result))
      )
    said = {active[k]: place for k, place in said.items()}
    if turn == 0:
      groups = np.array([r.turns[0].result.status != "ok" for r in rollouts])
      failures = groups.reshape(len(tasks), group_size).sum(axis=1)
      expanded = [gate(int(n)) for n in failures]
    active = [
      i
      for i in active
      if expanded[i // group_size] and math.isinf(rollouts[i].success_turn)
    ]
    if not active:
      break
  grouped = [
    rollouts[i : i + group_size] for i in range(0, len(rollouts), group_size)
  ]
  return grouped, Seconds(*spent.tolist())


def pad_prompts(
  rows: Sequence[Sequence[int]], lengths: Sequence[int], pad_id: int
) -> tuple[np.ndarray, np.ndarray]:
  """Left-padded prompts int32 [B, P] and their mask float32 [B, P].

  P is the smallest of lengths that fits the longest row.
  """
  longest = max(map(len, rows))
  length = min((n for n in lengths if n >= longest), default=max(lengths))
  tokens = np.full((len(rows), length), pad_id, np.int32)
  mask = np.zeros((len(rows), length), np.float32)
  for b, row in enumerate(rows):
    if row:
      tokens[b, -len(row) :] = row
      mask[b, -len(row) :] = 1
  return tokens, mask


def rounded(tokens: int) -> int:
  """The length to which completions are padded in a batch to learn from.

  Every length costs one compilation, of seconds; a few of them suffice.
  """
  return -(-tokens // 64) * 64


def encode(tokenizer: Tokenizer, text: str, limit: int) -> list[int]:
  """Token ids of a prompt; what is over the limit is cut from the middle.

  The head names the task and the tail asks for the kernel; the end of a long
  attempt is what can be spared.
  """
  ids = tokenizer.ask(text)
  if len(ids) <= limit:
    return ids
  tail = limit // 4
  return ids[: limit - tail] + ids[-tail:]


class _Writing:
  """Completions on their way to the evaluator: an iterator of its pairs."""

  def __init__(self, turns: Iterator[tuple[int, Turn]], tasks: Sequence[Task]):
    self._turns = turns
    self._tasks = tasks
    self.written: list[tuple[int, Turn]] = []
    self.sources: list[tuple[str, str]] = []  # With the names of tasks.
    self.seconds = 0.0  # Spent sampling.

  def __iter__(self) -> Iterator[tuple[Task, str]]:
    return self

  def __next__(self) -> tuple[Task, str]:
    start = time.monotonic()
    try:
      i, turn = next(self._turns)
    finally:
      self.seconds += time.monotonic() - start
    self.written.append((i, turn))
    self.sources.append((self._tasks[i].name, turn.source))
    return self._tasks[i], turn.source


def _judging_seconds(
  sources: Sequence[tuple[str, str]], results: Sequence[Any]
) -> np.ndarray:
  """Seconds compiling, queueing and running, of each distinct kernel once."""
  judged = dict(zip(sources, results, strict=True)).values()
  seconds = [(r.compile_s, r.queue_s, r.run_s) for r in judged]
  return np.sum(seconds, axis=0)


class _Asked(NamedTuple):
  """What a turn reads.

  Attributes:
    prompt: all of it, as the trainer will read it.
    more: what a conversation has not read yet; all of it if there is none.
    said: the conversation and its row in it, or None.
  """

  prompt: list[int]
  more: list[int]
  said: tuple[Any, int] | None


def _prompt(
  sampler: Sampler,
  task: Task,
  rollout: Rollout,
  begun: Any,
  said: tuple[Any, int] | None,
) -> _Asked:
  limit = max(sampler.prompt_lengths)
  if rollout.turns:
    last = rollout.turns[-1]
    told = last.source, last.result.status, last.result.log
    if sampler.conversation:
      more = sampler.tokenizer.ask(prompts.reply(*told[1:]), again=True)
      whole = [*last.prompt, *last.tokens[last.mask > 0].tolist(), *more]
      if len(whole) <= limit:
        return _Asked(whole, more if said else whole, said)
    text = prompts.next_turn(task, *told)
  elif begun is not None:
    text = prompts.next_turn(task, begun.source, begun.status, begun.log)
  else:
    text = prompts.first_turn(task)
  ids = encode(sampler.tokenizer, text, limit)
  return _Asked(ids, ids, None)


def _write(
  sampler: Sampler,
  key: jax.Array,
  asked: Sequence[_Asked],
  samples: int,
  said: dict[int, tuple[Any, int]] | None,
) -> Iterator[tuple[int, Turn]]:
  """Completions as they end, each with the index of its prompt.

  Prompts of similar length share a call, so that few tokens are padding; rows
  that a call has left are filled. A completion depends on its own key alone,
  not on who shares its call. Every `samples` prompts are the same; where that
  divides a call's rows, they are read once. A conversation goes on in a call
  with those that it shared one with before.

  Args:
    said: gets what is to be continued and a row of it by index, unless None.
  """
  shared = 1 if sampler.rows % samples else samples
  order = sorted(range(len(asked)), key=lambda k: len(asked[k].more))
  calls: dict[int, list[int]] = {}
  for k in order:
    calls.setdefault(id(asked[k].said and asked[k].said[0]), []).append(k)
  for together in calls.values():
    for start in range(0, len(together), sampler.rows):
      chunk = together[start : start + sampler.rows]
      state = yield from _turns(
        _call(sampler, key, asked, chunk, shared), sampler, asked, chunk
      )
      if said is not None and state is not None:
        said |= {k: (state, b) for b, k in enumerate(chunk)}


def _call(
  sampler: Sampler,
  key: jax.Array,
  asked: Sequence[_Asked],
  chunk: Sequence[int],
  samples: int,
) -> Generator[tuple[Any, Any], None, Any]:
  """`Policy.stream` of some prompts, all of one conversation or of none."""
  read = [asked[k].more for k in chunk]
  rows, options = sampler.rows, {}
  if asked[chunk[0]].said is None:
    options = {"samples": samples} if samples > 1 else {}
    read += [[sampler.tokenizer.end_id]] * (rows - len(chunk))
  else:
    # Few shapes, each of which is compiled; the rows left are of the first.
    rows = min(rows, max(8, 1 << (len(chunk) - 1).bit_length()))
    read = [read[b % len(chunk)] for b in range(rows)]
    places = np.resize([asked[k].said[1] for k in chunk], rows)
    state = asked[chunk[0]].said[0]
    options["said"] = jax.tree.map(lambda x: x[places], state)
  tokens, mask = pad_prompts(
    read[:: options.get("samples", 1)],
    sampler.prompt_lengths,
    sampler.tokenizer.pad_id,
  )
  which = np.resize(chunk, rows)  # Of what fills a call, whichever.
  stream = sampler.policy.stream or _at_once(sampler.policy)
  return stream(
    sampler.params,
    jax.vmap(jax.random.fold_in, (None, 0))(key, which),
    tokens,
    mask,
    sampler.temperature,
    **options,
  )


def _turns(
  stream: Generator[tuple[Any, Any], None, Any],
  sampler: Sampler,
  asked: Sequence[_Asked],
  chunk: Sequence[int],
) -> Generator[tuple[int, Turn], None, Any]:
  """The turns of a call as they end; returns what the call does."""
  while True:
    try:
      ended, sampled = next(stream)
    except StopIteration as end:
      return end.value
    real = [(chunk[b], n) for n, b in enumerate(ended) if b < len(chunk)]
    for k, n in sorted(real):
      row = jax.tree.map(lambda x, n=n: x[n], sampled)
      text = sampler.tokenizer.decode(row.tokens[row.mask > 0])
      yield k, Turn(asked[k].prompt, *row, prompts.extract(text), None)


def _at_once(
  policy: Policy,
) -> Callable[..., Generator[tuple[Any, Any], None, Any]]:
  """`Policy.stream` of a policy that ends all rows together."""

  def stream(*args, **options):
    """All rows, on the host."""
    sampled = jax.device_get(policy.sample(*args, **options))
    yield range(len(sampled.tokens)), sampled

  return stream
