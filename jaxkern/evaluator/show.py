"""Results for people: in a prompt, a notebook, a log."""

from jaxkern._core import Result

_WIDTH = 100


def short(result: Result) -> str:
  """One line, for lists of results."""
  text = result.status
  if result.status != "ok":
    text += f" in {result.stage}"
  facts = _times(result) if result.status == "ok" else result.log
  if facts:
    text += ": " + facts.partition("\n")[0]
  if len(text) > _WIDTH:
    text = text[: _WIDTH - 3] + "..."
  return f"<Result {text}>"


def long(result: Result) -> str:
  """The status, where, what was measured, and the log."""
  lines = [f"{result.status} ({result.stage}) on {result.device}"]
  if result.mismatches:
    lines.append(
      f"  {result.mismatches} elements differ, max abs error "
      f"{result.max_abs_error:.3g}, max rel error {result.max_rel_error:.3g}"
    )
  if times := _times(result):
    lines.append("  " + times)
  lines += ["  " + line for line in result.log.splitlines()]
  return "\n".join(lines)


def _times(result: Result) -> str:
  if not result.times_us:
    return ""
  if result.speedup == 0:
    return f"{len(result.times_us)} samples, no baseline"
  return (
    f"{result.baseline_us / result.speedup:.4g} us, "
    f"{result.speedup:.3g} times as fast as the baseline"
  )
