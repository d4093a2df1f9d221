"""Who writes kernels to be scored: an endpoint, a folder, a policy."""

import http.client
import json
import os
import pathlib
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import Any

import jax

from jaxkern.rollout import prompts
from jaxkern.rollout.collect import Sampler, collect
from jaxkern.training import run
from jaxkern.training.scoring import Item, Writer

_TRIES = 4


def endpoint(
  url: str,
  model: str,
  *,
  extract: Callable[[str], str],
  temperature: float = 0.0,
  max_tokens: int = 4096,
  timeout_s: float = 600.0,
  wait_s: float = 2.0,
) -> Writer:
  """Asks an OpenAI-compatible server's chat/completions.

  Args:
    url: up to and with '/v1'.
    model: the server's name for it.
    extract: the kernel out of an answer.
    temperature: of sampling.
    max_tokens: of an answer.
    timeout_s: for one answer.
    wait_s: before the first new try, then twice as long each time.

  Returns:
    A writer. It raises OSError when the server refuses or keeps failing. The
    key is taken from $OPENAI_API_KEY, if set.

  Raises:
    ValueError: the url is none.
  """
  if not url.startswith(("http://", "https://")):
    raise ValueError(f"--endpoint: expected http://... or https://, got {url}")
  address = url.rstrip("/") + "/chat/completions"

  def ask(prompt: str, seed: int) -> str:
    """One answer."""
    body = {
      "model": model,
      "messages": [{"role": "user", "content": prompt}],
      "temperature": temperature,
      "max_tokens": max_tokens,
      "seed": seed,
    }
    return _content(_post(address, body, timeout_s))

  def write(item: Item, samples: Sequence[int]) -> list[str]:
    """Asks again where the server is busy or away."""
    return [extract(_patiently(ask, item.prompt, k, wait_s)) for k in samples]

  return write


def _post(address: str, body: dict, timeout_s: float) -> dict:
  headers = {"Content-Type": "application/json"}
  if key := os.environ.get("OPENAI_API_KEY"):
    headers["Authorization"] = f"Bearer {key}"
  request = urllib.request.Request(address, json.dumps(body).encode(), headers)
  with urllib.request.urlopen(request, timeout=timeout_s) as answer:
    return json.load(answer)


def _content(told: Any) -> str:
  """The answer's text; "" where a model said nothing."""
  try:
    content = told["choices"][0]["message"]["content"] or ""
  except (LookupError, TypeError):
    content = None
  if not isinstance(content, str):
    raise ValueError(f"expected choices with a text, got {str(told)[:300]}")
  return content


def _patiently(ask, prompt: str, seed: int, wait_s: float) -> str:
  for attempt in range(_TRIES):
    try:
      return ask(prompt, seed)
    except urllib.error.HTTPError as error:
      with error:
        busy = error.code in (408, 429) or error.code >= 500
        if not busy or attempt + 1 == _TRIES:
          said = error.read(300).decode(errors="replace")
          raise OSError(f"endpoint: {error.code} {said}") from None
    # A connection that was dropped, an answer cut off or of another form.
    except (OSError, http.client.HTTPException, ValueError) as error:
      if attempt + 1 == _TRIES:
        said = f"{type(error).__name__}: {error}"
        raise OSError(f"endpoint: {said}") from None
    time.sleep(wait_s * 2**attempt)
  raise AssertionError("the last try returns or raises")


def folder(directory: str | os.PathLike) -> Writer:
  """Files of a folder: TASK.cu, TASK_K.cu or .py for sample K.

  Or KernelBench's names: level_L_problem_P_sample_K_kernel.py.

  Raises:
    ValueError: there is no such folder.
  """
  directory = pathlib.Path(directory)
  if not directory.is_dir():
    raise ValueError(f"--kernels: expected a folder, got {directory}")

  def names(item: Item, sample: int):
    """Where a sample may lie."""
    stem = item.task.removesuffix(".py")
    stems = [f"{stem}_{sample}", *([stem] if sample == 0 else [])]
    yield from (f"{s}{end}" for s in stems for end in (".cu", ".py"))
    place = f"level_{item.level}_problem_{item.number}_sample_{sample}"
    yield f"{place}_kernel.py"

  def write(item: Item, samples: Sequence[int]) -> list[str | None]:
    """None where no file is found."""
    texts = []
    for k in samples:
      paths = [directory / name for name in names(item, k)]
      found = [p.read_text() for p in paths if p.is_file()]
      texts.append(found[0] if found else None)
    return texts

  return write


def policy(
  checkpoint: str | os.PathLike, *, temperature: float, seed: int, rows: int
) -> Writer:
  """A run's policy, one turn; for items whose subject is a Task."""
  config, tokenizer, params = run.load(checkpoint)
  sampler = Sampler(
    run.make_policy(config, tokenizer),
    params,
    tokenizer,
    tuple(config.prompt_lengths),
    rows=rows,
    temperature=temperature,
  )

  def write(item: Item, samples: Sequence[int]) -> list[str]:
    """Sampled with a key of the task's own and the first sample's."""
    key = jax.random.key(seed)
    for number in (*item.task.encode(), samples[0]):
      key = jax.random.fold_in(key, number)
    groups, _ = collect(
      sampler,
      key,
      [item.subject],
      lambda pairs: [_NOT_JUDGED for _ in pairs],
      group_size=len(samples),
      turns=1,
      gate=lambda failures: False,
    )
    return [rollout.turns[0].source for rollout in groups[0]]

  return write


class _NotJudged:
  status, log, speedup = "", "", 0.0
  compile_s = queue_s = run_s = 0.0


_NOT_JUDGED = _NotJudged()


def suite_prompt(task) -> str:
  """For a model that knows nothing of ours: the facts and the form."""
  return (
    "Write a CUDA kernel, as one C++ file in a fenced block. It defines the "
    "function below, whose pointers are device memory and which returns "
    "cudaGetLastError(). No library calls.\n\n" + prompts.first_turn(task)
  )
