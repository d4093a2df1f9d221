"""What a user names, as the objects of the search."""

import importlib.metadata
import os

from jaxkern.agent import subject as subjects
from jaxkern.agent.builtin import Builtin
from jaxkern.agent.proposer import Proposer, digest
from jaxkern.agent.subject import Subject
from jaxkern.tasks import suite


def subject(
  task: str | None, bundle: str | None, kernel: str, workdir: str
) -> Subject:
  """A task or a bundle, begun with a kernel of the user's if there is one.

  Raises:
    ValueError: none or both are given, or there is nothing of that name.
  """
  if bool(task) == bool(bundle):
    raise ValueError(
      f"task, bundle: expected one of the two, got {task!r} and {bundle!r}"
    )
  if bundle:
    return subjects.of_bundle(bundle, kernel, workdir)
  return subjects.of_task(suite.get(task), kernel)


def proposer(endpoint: str | None, model: str | None, window: int) -> Proposer:
  """An endpoint's model, or the proposer that needs none.

  Raises:
    ValueError: an endpoint without a model.
  """
  if not endpoint:
    return Builtin()
  if not model:
    raise ValueError("model: expected the endpoint's model, got none")
  # Loading the client takes a second that others need not wait.
  from jaxkern.agent.endpoint import Endpoint

  return Endpoint(endpoint, model, os.environ.get("OPENAI_API_KEY", ""), window)


def provenance(proposer: Proposer, arm: str, seed: int) -> dict:
  """What one needs to know to do the same again."""
  versions = {}
  for name in ("jaxkern-cuda", "jax", "tree-sitter-cuda"):
    try:
      versions[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
      versions[name] = ""
  return {
    "proposer": proposer.name,
    "arm": arm,
    "seed": seed,
    "versions": versions,
  }


def identity(subject: Subject, device: str) -> dict:
  """What a session is of: to be the same when it is taken up again."""
  return {
    "task": subject.name,
    "start": digest(subject.start) if subject.start else "",
    "device": device,
  }
