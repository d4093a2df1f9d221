"""A kernel as words: what two texts have in common besides their layout."""

import re

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*|\d[\w.]*|[^\s\w]")


def words(text: str) -> list[str]:
  """Names, numbers and signs, without comments."""
  return _WORD.findall(_COMMENT.sub(" ", text))


def grams(text: str, n: int) -> set[tuple[str, ...]]:
  """All runs of n words; the whole of a text that is shorter."""
  found = words(text)
  if len(found) < n:
    return {tuple(found)} if found else set()
  return {tuple(found[k : k + n]) for k in range(len(found) - n + 1)}
