"""The layout of edited kernels: people read them, and models."""


def tidied(source: str) -> str:
  """The source with every line indented by its depth in braces.

  Only spaces at the beginning of lines change, and not in directives or after
  a backslash; lines that go on with an expression get four more.
  """
  lines, depth, goes_on, kept = [], 0, False, False
  for line in source.split("\n"):
    bare = line.strip()
    if kept or bare.startswith("#"):
      lines.append(line)
    elif not bare:
      lines.append("")
    else:
      opened = depth - (len(bare) - len(bare.lstrip("}")))
      extra = 4 if goes_on and not bare.startswith(("{", "}")) else 0
      lines.append(" " * (2 * max(opened, 0) + extra) + bare)
      code = bare.partition("//")[0].rstrip()
      depth += code.count("{") - code.count("}")
      goes_on = bool(code) and not code.endswith((";", "{", "}", ":"))
    kept = line.endswith("\\")
  return "\n".join(lines)
