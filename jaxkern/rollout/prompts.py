"""What a policy reads, and how its answer is taken apart.

A prompt is the task, after a failed turn the attempt and what the evaluator
said of it, and the marker after which the kernel is expected.
"""

import re

from jaxkern.tasks.task import Task, shapes, signature
from jaxkern.tokenizer import ATTEMPT, FEEDBACK, KERNEL, TASK

_FEEDBACK_LINES = 3
_FEEDBACK_CHARACTERS = 240
_FENCE = re.compile(r"```[a-zA-Z+]*\n(.*?)```", re.DOTALL)


def first_turn(task: Task) -> str:
  """The prompt of a task nobody has tried yet."""
  return f"{TASK}{_facts(task)}{KERNEL}"


def next_turn(task: Task, attempt: str, status: str, log: str) -> str:
  """The prompt after a failed turn.

  Args:
    task: what the kernel is for.
    attempt: the source that failed; the latest one only.
    status: of its Result.
    log: of its Result; shortened to its first lines.
  """
  said = feedback(status, log)
  return f"{TASK}{_facts(task)}{ATTEMPT}{attempt}{FEEDBACK}{said}{KERNEL}"


def reply(status: str, log: str) -> str:
  """What a conversation goes on with after a failed turn, its own words being
  in it already."""
  return f"{FEEDBACK}{feedback(status, log)}{KERNEL}"


def feedback(status: str, log: str) -> str:
  """The status and the first lines of the log, bounded."""
  lines = [line.strip() for line in log.splitlines() if line.strip()]
  text = "\n".join([status, *lines[:_FEEDBACK_LINES]])
  return text[:_FEEDBACK_CHARACTERS]


def extract(completion: str) -> str:
  """The kernel in a completion: its first fenced block, else all of it."""
  fenced = _FENCE.search(completion)
  return fenced.group(1) if fenced else completion


def _facts(task: Task) -> str:
  return f"{task.summary}\n{shapes(task)}\n{signature(task)}\n"
