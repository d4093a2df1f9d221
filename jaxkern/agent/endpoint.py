"""A model behind an OpenAI-compatible endpoint, by the official client.

Whatever goes wrong on the way is a fault that the search records as a case;
what may pass (rate limits, server errors, lost connections, silence) is tried
again, later and later. The key is taken from the environment, given to the
client, and cut out of every text that comes back.
"""

import concurrent.futures
import random
import threading
import time
from collections.abc import Callable

import httpx2
import openai
import tokenizers

from jaxkern.agent import answers, prompt
from jaxkern.agent.answers import Answer
from jaxkern.agent.context import Item, Window
from jaxkern.agent.proposer import Proposal, Wish

_TRANSIENT = frozenset(
  ("rate_limited", "server_error", "connection_lost", "answer_timeout")
)
_SAID = 300  # characters of an error
# Bytes a token has at least, on the mean of a text, until the server has said.
_BYTES_PER_TOKEN = 2.5


class Endpoint:
  """See the module; implements Proposer."""

  def __init__(
    self,
    url: str,
    model: str,
    key: str = "",
    window: int = 16384,
    *,
    generation: int = 4096,
    temperature: float = 1.0,
    timeout_s: float = 300.0,
    tries: int = 4,
    wait_s: float = 1.0,
    tokenizer: str = "",
    sleep: Callable[[float], None] = time.sleep,
  ):
    """Connects when it is first asked.

    Args:
      url: up to and with `/v1`.
      model: the server's name of it.
      key: sent as the client sends it, and kept nowhere else.
      window: tokens it can see, the answer's included.
      generation: tokens of an answer, at most; half of the window if less.
      temperature: of sampling.
      timeout_s: of silence before a request is given up.
      tries: of a request, the first included.
      wait_s: before the second try; twice as long before each further one, or
        what the server asks for.
      tokenizer: the model's tokenizer.json; without, tokens are bounded from
        the bytes, corrected by what the server counts.
      sleep: for tests.
    """
    self.name = f"endpoint:{model}"
    self.system = answers.system_text(True)
    self.window = Window(window, min(generation, window // 2))
    self._model, self._key, self._temperature = model, key, temperature
    self._tries, self._wait_s, self._sleep = tries, wait_s, sleep
    self._tokenizer = (
      tokenizers.Tokenizer.from_file(tokenizer) if tokenizer else None
    )
    self._bytes_per_token = _BYTES_PER_TOKEN
    self._lock = threading.Lock()
    # Its own retries would hide what is to be recorded.
    self._client = openai.OpenAI(
      base_url=url,
      api_key=key or "none",
      max_retries=0,
      timeout=timeout_s,
    )

  def count(self, text: str) -> int:
    """Tokens, or a bound of them."""
    if self._tokenizer is not None:
      return len(self._tokenizer.encode(text).ids)
    return int(len(text.encode()) / self._bytes_per_token) + 1

  def hot(self, *arguments) -> list[Item]:
    """As `prompt.hot`."""
    return prompt.hot(*arguments)

  def propose(self, wish: Wish) -> list[Proposal]:
    """As many requests at once as kernels are wanted."""
    with concurrent.futures.ThreadPoolExecutor(wish.count) as pool:
      made = pool.map(
        lambda _: answers.converse(wish, self._ask), range(wish.count)
      )
      return [proposal for each in made for proposal in each]

  def close(self) -> None:
    """Ends its connections."""
    self._client.close()

  def _ask(self, messages: list[dict]) -> list[Answer]:
    """The answers of all tries; only the last may be without fault."""
    tried: list[Answer] = []
    for attempt in range(self._tries):
      answer, asked_wait = self._once(messages)
      tried.append(answer)
      if answer.fault not in _TRANSIENT:
        break
      if attempt + 1 < self._tries:
        wait = self._wait_s * 2**attempt * random.uniform(1, 1.5)
        self._sleep(min(max(wait, asked_wait), 120.0))
    return tried

  def _once(self, messages: list[dict]) -> tuple[Answer, float]:
    """One request, streamed: (answer, seconds the server asks to wait)."""
    began = time.monotonic()
    pieces: list[str] = []
    fault = said = reason = ""
    wait, usage = 0.0, None
    try:
      with self._client.chat.completions.create(
        model=self._model,
        messages=messages,
        temperature=self._temperature,
        max_tokens=self.window.generation,
        stream=True,
        stream_options={"include_usage": True},
      ) as stream:
        for chunk in stream:
          usage = getattr(chunk, "usage", None) or usage
          for choice in (chunk.choices or [])[:1]:
            pieces.append((choice.delta and choice.delta.content) or "")
            reason = choice.finish_reason or reason
      if not reason:
        fault, said = "connection_lost", "the stream ended without a reason"
      elif reason == "length":
        fault = "truncated_answer"
        said = f"cut off after {self.window.generation} tokens"
    except Exception as error:  # Servers break in every way there is.
      fault, said, wait = self._fault_of(error)
    text = self._clean("".join(pieces))
    sent = sum(self.count(m["content"]) for m in messages)
    if usage is not None:
      self._correct(messages, usage.prompt_tokens or 0)
    answer = Answer(
      text,
      (usage.prompt_tokens if usage else sent) or 0,
      (usage.completion_tokens if usage else self.count(text)) or 0,
      time.monotonic() - began,
      fault,
      said,
    )
    return answer, wait

  def _fault_of(self, error: Exception) -> tuple[str, str, float]:
    """(fault, what is remembered, seconds to wait) of what a request raised.

    Raises:
      the error, if it is none of a server or a connection.
    """
    wait = 0.0
    if isinstance(error, openai.APITimeoutError | httpx2.TimeoutException):
      fault = "answer_timeout"
    elif isinstance(error, openai.APIStatusError):
      fault = "malformed_answer"  # Of ours, in the server's eyes.
      if error.status_code == 429:
        fault = "rate_limited"
      elif error.status_code >= 500 or error.status_code in (408, 409):
        fault = "server_error"
      elif "context" in str(error) and error.status_code == 400:
        fault = "context_too_small"
      wait = _seconds(error.response.headers.get("retry-after", ""))
    elif isinstance(error, openai.APIConnectionError | httpx2.TransportError):
      fault = "connection_lost"
    elif isinstance(error, openai.APIError):
      fault = "server_error"  # An error within a stream.
    elif isinstance(error, ValueError | TypeError | AttributeError | KeyError):
      fault = "malformed_answer"  # What came was no chunk of an answer.
    else:
      raise error
    said = f"{type(error).__name__}: {self._clean(str(error))}"
    return fault, said[:_SAID], wait

  def _clean(self, text: str) -> str:
    """Without the key, should a server or a model have repeated it."""
    return text.replace(self._key, "[key]") if self._key else text

  def _correct(self, messages: list[dict], counted: int) -> None:
    """Learns how many bytes the server's tokens have; never fewer."""
    sent = sum(len(m["content"].encode()) for m in messages)
    if counted > 0 and self._tokenizer is None:
      with self._lock:
        self._bytes_per_token = min(self._bytes_per_token, sent / counted)


def _seconds(text: str) -> float:
  try:
    return max(0.0, float(text))
  except ValueError:
    return 0.0
