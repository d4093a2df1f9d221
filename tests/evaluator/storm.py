"""The fault storm: many candidates, a third of them at fault, in random order.

`run` gives them all to one evaluator and returns what was not as it must be.
"""

import collections
import os
import pathlib
import random
import time

from jaxkern.evaluator import Evaluator, Request

from .faults import (
  DEVICE_FAULTS,
  FAULTS,
  ORDINARY,
  SHARED_MEMORY,
  SYSTEM_V_KEY,
  Candidate,
)

# Enough for every right candidate, and soon full.
CPU_MEMORY = (2 + os.cpu_count()) << 28


def faults(device: str, description: str) -> dict[str, Candidate]:
  """What an evaluator that describes itself so must withstand."""
  return {
    kind: candidate
    for kind, candidate in (FAULTS | DEVICE_FAULTS[device]).items()
    if candidate.needs in description
  }


def make(
  count: int, seed: int, device: str, description: str
) -> list[tuple[str, Candidate]]:
  """`count` candidates with their kinds, a third of them faulty."""
  rng = random.Random(seed)
  known = faults(device, description)
  faulty = [list(known)[i % len(known)] for i in range(count // 3)]
  ordinary = rng.choices(list(ORDINARY), k=count - len(faulty))
  kinds = faulty + ordinary
  rng.shuffle(kinds)
  return [(kind, (known | ORDINARY)[kind]) for kind in kinds]


def children(pid: int) -> list[str]:
  """State and name of every child of `pid`, e.g. 'S jaxkern-worker'."""
  found = []
  for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
    try:
      name, _, fields = path.read_text().partition("(")[2].rpartition(")")
    except OSError:
      continue  # It ended meanwhile.
    state, parent = fields.split()[:2]
    if int(parent) == pid:
      found.append(f"{state} {name}")
  return sorted(found)


def shared_memory() -> list[str]:
  """Segments that the candidates of faults.py would leave behind."""
  key = str(SYSTEM_V_KEY)
  system_v = pathlib.Path("/proc/sysvipc/shm")
  lines = system_v.read_text().splitlines() if system_v.exists() else []
  return sorted(
    [name for name in os.listdir("/dev/shm") if name == SHARED_MEMORY]
    + [line for line in lines if line.split()[0] == key]
  )


def marked(mark: str) -> list[str]:
  """Other processes whose environment or command line has `mark` in it."""
  found = []
  for process in pathlib.Path("/proc").glob("[0-9]*"):
    for name in ("environ", "cmdline"):
      try:
        text = (process / name).read_bytes()
      except OSError:
        continue  # It ended meanwhile.
      if mark.encode() in text and int(process.name) != os.getpid():
        found.append(process.name)
  return found


def resident_kb() -> int:
  """This process's memory."""
  status = pathlib.Path("/proc/self/status").read_text()
  return int(status.partition("VmRSS:")[2].split()[0])


def state() -> dict:
  """What must be the same before and after."""
  return {
    "children": children(os.getpid()),
    "descriptors": len(os.listdir("/proc/self/fd")),
    "shared_memory": shared_memory(),
  }


def judge(kind: str, candidate: Candidate, result) -> str:
  """What is wrong with a result; '' if nothing."""
  if result.status != candidate.status:
    return f"{kind}: {result.status} for {candidate.status}: {result.log}"
  if candidate.log not in result.log:
    return f"{kind}: no {candidate.log!r} in the log: {result.log}"
  return ""


def collect(evaluator: Evaluator, bundle: str, candidates, distinct) -> dict:
  """Submits all candidates and takes their results as they come."""
  wrong, seen, resident, tickets = [], collections.Counter(), [], {}
  seconds = collections.Counter()
  for i, (kind, candidate) in enumerate(candidates):
    # Candidates differ, so that none is answered along with another.
    source = candidate.source + (f"int distinct_{i};\n" if distinct else "")
    timeout = candidate.run_timeout_s + i * 1e-5
    request = Request(bundle, source, run_timeout_s=timeout, rules=False)
    tickets[evaluator.submit(request)] = (kind, candidate)
  while (done := evaluator.next()) is not None:
    ticket, result = done
    kind, candidate = tickets.pop(ticket)
    seen[f"{kind}: {result.status}"] += 1
    seconds[kind] += result.run_s
    if problem := judge(kind, candidate, result):
      wrong.append(problem)
    if seen.total() % max(len(candidates) // 20, 1) == 0:
      resident.append(resident_kb())
  return {
    "wrong": wrong,
    "lost": len(tickets),
    "resident_kb": resident,
    "results": dict(sorted(seen.items())),
    "run_seconds": dict(seconds.most_common()),
  }


def run(
  bundle: str,
  candidates: list,
  scratch: pathlib.Path,
  device: str,
  distinct: bool,
  run_workers: int,
) -> dict:
  """Evaluates all candidates at once.

  Args:
    bundle: of the task of conftest.py.
    candidates: as from `make`.
    scratch: a directory for the cache, and $TMPDIR.
    device: 'cpu' or 'cuda'.
    distinct: compile every candidate anew, not every kind once.
    run_workers: candidates run at once.
  """
  before, start = state(), time.perf_counter()
  memory_bytes = CPU_MEMORY if device == "cpu" else 0
  # The sandbox, not the rules, is what the storm tries.
  with (
    Evaluator(
      device,
      cache_dir=scratch / "cache",
      run_workers=run_workers,
      memory_bytes=memory_bytes,
    ) as evaluator,
  ):
    record = {
      "evaluator": evaluator.describe(),
      "candidates": len(candidates),
      "faulty": sum(kind not in ORDINARY for kind, _ in candidates),
      "distinct": distinct,
    }
    record |= collect(evaluator, bundle, candidates, distinct)
    record["seconds"] = time.perf_counter() - start
    record["stats"] = evaluator.stats()
    time.sleep(0.5)  # The last spare may still be starting.
    record["idle_children"] = children(os.getpid())
    # Precompiled headers are the compile workers' own, as long as these live.
    files = [
      path
      for path in scratch.glob("jaxkern-*/**/*")
      if path.is_file() and path.suffix != ".pch"
    ]
  deadline = time.monotonic() + 10
  while marked(str(scratch)) and time.monotonic() < deadline:
    time.sleep(0.05)
  return record | {
    "before": before,
    "after": state(),
    "processes_left": marked(str(scratch)),
    "files_left": [p.name for p in (*files, *scratch.glob("jaxkern-*"))],
  }
