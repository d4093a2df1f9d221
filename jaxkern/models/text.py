"""A checkpoint's tokenizer and chat template.

Templates come with checkpoints from strangers, so they run in Jinja's sandbox:
they can compute a string from the messages and nothing else.
"""

import dataclasses
import json
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import jinja2
import jinja2.ext
import jinja2.sandbox
import tokenizers

from jaxkern.models.architecture import Architecture
from jaxkern.models.huggingface import read_json, write_json
from jaxkern.tokenizer import Frame, Tokenizer

_LOADABLE = "tokenizer.json"  # What `tokenizers` reads.
_CONFIG = "tokenizer_config.json"
_TEMPLATE = "chat_template.jinja"  # Where it is, no other template counts.


class Text(NamedTuple):
  """How a checkpoint reads and writes.

  Attributes:
    tokenizer: text to ids and back.
    chat: the template's source, if the checkpoint has one.
    specials: names and texts of special tokens that templates may use, e.g.
      {"bos_token": "<s>"}.
    where: the file they come from, for messages.
  """

  tokenizer: Tokenizer
  chat: str | None
  specials: Mapping[str, str]
  where: str

  def render(
    self,
    messages: Sequence[Mapping[str, str]],
    *,
    prompt: bool = True,
    **values: Any,
  ) -> str:
    """The text of a conversation, as the checkpoint was trained to see it.

    Args:
      messages: of "role" and "content".
      prompt: whether the answer's beginning is added.
      **values: what else the template knows, e.g. enable_thinking.

    Raises:
      ValueError: there is no template, or it refuses these messages.
    """
    if self.chat is None:
      raise ValueError(f"{self.where}: expected a chat template, got none")
    try:
      return _compiled(self.chat).render(
        messages=messages,
        add_generation_prompt=prompt,
        **{**self.specials, **values},
      )
    # A template is a program: it may raise whatever Python does.
    except Exception as error:
      raise ValueError(f"{self.where}: chat template: {error}") from error

  def framed(self) -> Tokenizer:
    """The tokenizer, whose prompts are a user's words if there is a template.

    Raises:
      ValueError: the template refuses a conversation of two turns, or what it
        makes of one does not hold the words as they are.
    """
    if self.chat is None:
      return self.tokenizer
    words = "first words", "an answer", "more words"
    roles = "user", "assistant", "user"
    rendered = self.render(
      [{"role": r, "content": w} for r, w in zip(roles, words, strict=True)]
    )
    parts = []
    for word in words:
      part, found, rendered = rendered.partition(word)
      if not found:
        raise ValueError(
          f"{self.where}: chat template: expected it to show {word!r}, got none"
        )
      parts.append(part)
    # A policy has said itself that it was done.
    ends = map(self.tokenizer.token, self.tokenizer.end_ids)
    end = next((e for e in ends if e and parts[2].startswith(e)), "")
    frame = Frame(parts[0], rendered, parts[2].removeprefix(end))
    return dataclasses.replace(self.tokenizer, frame=frame)

  def save(self, directory: pathlib.Path) -> None:
    """Writes the files that `from_directory` and transformers read."""
    self.tokenizer.save(directory / _LOADABLE)
    config = {"tokenizer_class": "PreTrainedTokenizerFast", **self.specials}
    if self.chat is not None:
      config["chat_template"] = self.chat
    # One that an earlier checkpoint left here would be read instead.
    (directory / _TEMPLATE).unlink(missing_ok=True)
    write_json(directory / _CONFIG, config)
    ends = {"eos_token_id": list(self.tokenizer.end_ids)}
    write_json(directory / "generation_config.json", ends)


def from_directory(directory: pathlib.Path) -> Text | None:
  """The text of a Hugging Face directory; None if it has no tokenizer.json.

  Raises:
    ValueError: a file cannot be used, or nothing says which token ends a text.
  """
  path = directory / _LOADABLE
  if not path.exists():
    return None
  try:
    model = tokenizers.Tokenizer.from_file(str(path))
  # The library raises plain Exception for JSON it cannot use.
  except Exception as error:
    raise ValueError(f"{path}: expected a tokenizer: {error}") from error
  config = _optional(directory / _CONFIG)
  specials = {
    name: _content(value)
    for name, value in config.items()
    if name.endswith("_token") and _content(value) is not None
  }
  ends = []
  for name in ("generation_config.json", "config.json"):
    given = _optional(directory / name).get("eos_token_id")
    ends += given if isinstance(given, list) else [given]
  ends.append(model.token_to_id(specials.get("eos_token", "")))
  template = directory / _TEMPLATE
  chat = _default_template(config.get("chat_template"))
  if template.exists():
    chat = template.read_text(encoding="utf-8")
  return make(model, ends, chat, specials, str(path))


def make(
  model: tokenizers.Tokenizer,
  ends: Sequence[int | None],
  chat: str | None,
  specials: Mapping[str, str],
  where: str,
) -> Text:
  """A text of its parts; the end tokens are those given that are not None."""
  model.no_padding()
  model.no_truncation()
  ends = tuple(dict.fromkeys(end for end in ends if end is not None))
  if not ends:
    raise ValueError(f"{where}: eos_token: expected a token, got none")
  pad = model.token_to_id(specials.get("pad_token", ""))
  pad = ends[-1] if pad is None else pad
  return Text(Tokenizer(model, ends, pad), chat, dict(specials), where)


def check(text: Text, architecture: Architecture) -> None:
  """Whether the decoder has a row for every token.

  Raises:
    ValueError: it has not.
  """
  rows = architecture.vocab_size
  largest = max(text.tokenizer.vocab_size - 1, *text.tokenizer.end_ids)
  if largest >= rows:
    raise ValueError(
      f"{text.where}: expected token ids below {rows}, the rows of "
      f"embed_tokens, got {largest}"
    )


def _compiled(chat: str) -> jinja2.Template:
  """The template, with what transformers offers to those it compiles."""
  environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True,
    lstrip_blocks=True,
    extensions=[jinja2.ext.loopcontrols],
  )

  def refuse(message: str) -> None:
    """What templates call when messages are not as they must be."""
    raise jinja2.TemplateError(message)

  environment.globals["raise_exception"] = refuse
  environment.filters["tojson"] = _to_json
  return environment.from_string(chat)


def _to_json(
  value: Any,
  ensure_ascii: bool = False,
  indent: int | None = None,
  separators: tuple[str, str] | None = None,
  sort_keys: bool = False,
) -> str:
  """JSON as it is, with no HTML in mind; arguments as templates pass them."""
  return json.dumps(
    value,
    ensure_ascii=ensure_ascii,
    indent=indent,
    separators=separators,
    sort_keys=sort_keys,
  )


def _default_template(given: Any) -> str | None:
  """The template of a tokenizer_config.json, which may hold several."""
  if isinstance(given, list):
    given = {each["name"]: each["template"] for each in given}.get("default")
  return given


def _content(token: Any) -> str | None:
  return token.get("content") if isinstance(token, dict) else token


def _optional(path: pathlib.Path) -> dict[str, Any]:
  return read_json(path) if path.exists() else {}
