"""Bundles that other processes write."""

import os
import pathlib
import signal
import subprocess
import sys
import time

from jaxkern.data import ahead
from jaxkern.data.judging import Settings

SETTINGS = Settings("cuda", "task", (1,), 10, 2, 20.0)


def test_in_order_and_gone_when_the_next_is_asked_for(tmp_path):
  names = ["row_sum_int32", "add_int32", "count_above_i32"]
  found = ahead.bundles(names, SETTINGS, tmp_path, workers=1)
  name, bundles = next(found)
  assert name == names[0] and bundles.facts["seeds"] == [1]
  for place in (*bundles.checks, bundles.timed):
    assert (pathlib.Path(place) / "problem.json").exists()
  assert next(found)[0] == names[1]
  assert not (tmp_path / names[0]).exists()
  found.close()
  assert list(ahead.bundles([], SETTINGS, tmp_path, workers=1)) == []


def test_the_processes_end_with_a_killed_parent(tmp_path):
  code = (
    "import pathlib, multiprocessing\nfrom jaxkern.data import ahead\n"
    "from jaxkern.data.judging import Settings\n"
    "if __name__ == '__main__':\n"
    f"  made = ahead.bundles(['add_int32'], Settings{tuple(SETTINGS)},"
    f" pathlib.Path({str(tmp_path)!r}), 1)\n"
    "  next(made)\n"
    "  print(*(p.pid for p in multiprocessing.active_children()), flush=True)\n"
    "  input()\n"
  )
  script = tmp_path / "main.py"
  script.write_text(code)
  with subprocess.Popen(
    [sys.executable, str(script)],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
    env={**os.environ, "PYTHONPATH": os.getcwd(), "JAX_PLATFORMS": "cpu"},
  ) as parent:
    children = [int(pid) for pid in parent.stdout.readline().split()]
    parent.send_signal(signal.SIGKILL)
  deadline = time.monotonic() + 60
  while any(pathlib.Path(f"/proc/{pid}/cmdline").exists() for pid in children):
    if all(
      pathlib.Path(f"/proc/{pid}/stat").read_text().split()[2] == "Z"
      for pid in children
      if pathlib.Path(f"/proc/{pid}").exists()
    ):
      break  # Nobody reaps it here.
    assert time.monotonic() < deadline
    time.sleep(0.1)
  assert children
