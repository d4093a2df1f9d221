"""Byte-level BPE for kernels, prompts and feedback.

Pre-tokenisation decides what a token may span. The usual choice (GPT-2's
regular expression) stops a token at every word and operator, so a phrase that
every kernel repeats, such as `blockIdx.x * blockDim.x + threadIdx.x`, costs a
dozen tokens however often it is seen. Here text is cut into lines only: a token
may span words but never a line break, and none is longer than MAX_TOKEN_BYTES,
so that phrases become one or two tokens while lines that were never seen are
still composed of smaller pieces. Tokens per kernel at 1024 entries, trained on
400 kernels of ten other operations (GPT-2's expression -> lines): sigmoid, 518
characters, 195 -> 52; layer normalisation, 776 characters, 305 -> 67; matrix
product, 698 characters and unlike anything in the corpus, 312 -> 160. Longer
tokens (64) save little more on unseen kernels, 52 -> 49, 67 -> 58 and 160.
"""

import dataclasses
import os
import pathlib
import tempfile
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

PAD, END = "<|pad|>", "<|end|>"
TASK, ATTEMPT = "<|task|>", "<|attempt|>"
FEEDBACK, KERNEL = "<|feedback|>", "<|kernel|>"
# Their ids are their positions.
SPECIALS = (PAD, END, TASK, ATTEMPT, FEEDBACK, KERNEL)

MAX_TOKEN_BYTES = 32
_BYTES = sorted(pre_tokenizers.ByteLevel.alphabet())


class Frame(NamedTuple):
  """What a chat template puts around a user's words.

  Attributes:
    opening: before the first of them.
    closing: after any, up to where the answer begins.
    again: between an answer, with the token that ended it, and the next.
  """

  opening: str
  closing: str
  again: str


@dataclasses.dataclass(frozen=True)
class Tokenizer:
  """Text to token ids and back; make one with `train` or `load`.

  Special tokens (SPECIALS, or a checkpoint's own) are recognised where they
  stand in a text and belong to no merge. Every other text survives
  `decode(encode(text))` exactly. `models.text` makes one of a checkpoint's.

  Attributes:
    end_ids: tokens that end a completion.
    pad_id: what fills the rest of a row.
    frame: of prompts; a policy without a chat template reads them bare.
  """

  _model: tokenizers.Tokenizer
  end_ids: tuple[int, ...] = (SPECIALS.index(END),)
  pad_id: int = SPECIALS.index(PAD)
  frame: Frame = Frame("", "", "")

  @classmethod
  def train(cls, texts: Iterable[str], vocab_size: int) -> "Tokenizer":
    """Learns merges from texts; deterministic.

    Args:
      texts: the corpus; special tokens in it are skipped.
      vocab_size: the most entries to have, bytes and specials included. A small
        corpus yields fewer: `Tokenizer.vocab_size` tells.

    Raises:
      ValueError: vocab_size leaves no room for all bytes and the specials.
    """
    smallest = len(_BYTES) + len(SPECIALS)
    if vocab_size < smallest:
      raise ValueError(
        f"vocab_size: expected at least {smallest}, got {vocab_size}"
      )
    model = tokenizers.Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.Sequence(
      [
        # Break before the line break: "\n  " is then one token, not two.
        pre_tokenizers.Split("\n", "merged_with_next"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
      ]
    )
    model.decoder = decoders.ByteLevel()
    model.train_from_iterator(
      texts,
      trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=2,
        special_tokens=list(SPECIALS),
        initial_alphabet=_BYTES,
        max_token_length=MAX_TOKEN_BYTES,
        show_progress=False,
      ),
    )
    return cls(model)

  @classmethod
  def load(cls, path: str | os.PathLike) -> "Tokenizer":
    """Reads what `save` wrote.

    Raises:
      FileNotFoundError: there is no such file.
      ValueError: the file holds no tokenizer of ours.
    """
    text = pathlib.Path(path).read_bytes()
    try:
      model = tokenizers.Tokenizer.from_str(text.decode())
    # The library raises plain Exception for JSON it cannot use.
    except Exception as error:
      raise ValueError(f"{path}: not a tokenizer: {error}") from error
    for i, special in enumerate(SPECIALS):
      if model.token_to_id(special) != i:
        raise ValueError(
          f"{path}: expected token {i} to be {special}, got "
          f"{model.id_to_token(i)}"
        )
    return cls(model)

  def save(self, path: str | os.PathLike) -> None:
    """Writes JSON; a reader sees the old file or the new one, never a part."""
    path = pathlib.Path(path)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
      with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(self._model.to_str())
      os.replace(name, path)
    except BaseException:
      os.unlink(name)
      raise

  def encode(self, text: str) -> list[int]:
    """Token ids of a text, special tokens included where it spells them."""
    return self._model.encode(text, add_special_tokens=False).ids

  def ask(self, text: str, again: bool = False) -> list[int]:
    """Token ids of a prompt in its frame, the first or after an answer."""
    before = self.frame.again if again else self.frame.opening
    return self.encode(before + text + self.frame.closing)

  def decode(self, ids: Sequence[int]) -> str:
    """Text up to the first end token, other special tokens left out.

    Bytes that are not UTF-8, which a policy may sample, become U+FFFD.
    """
    ids = [int(i) for i in ids]
    end = next((t for t, i in enumerate(ids) if i in self.end_ids), len(ids))
    return self._model.decode(ids[:end], skip_special_tokens=True)

  def id_of(self, token: str) -> int | None:
    """The id of a token, e.g. a special one; None if there is no such token."""
    return self._model.token_to_id(token)

  def token(self, index: int) -> str:
    """The token of an id, as a text that spells it if it is a special one."""
    return self._model.id_to_token(index)

  @property
  def vocab_size(self) -> int:
    """Every id is below it."""
    return max(self._model.get_vocab().values()) + 1

  @property
  def end_id(self) -> int:
    """What a policy samples when it is done."""
    return self.end_ids[0]
