"""The journal: appended lines, a full disk, a writer that was killed."""

import errno
import json
import resource
import signal
import subprocess
import sys

import pytest

from jaxkern.data.journal import Journal


def test_lines_are_there_at_once_and_after(tmp_path):
  with Journal(tmp_path / "deep" / "j.jsonl") as journal:
    journal.append({"a": 1})
    assert journal.path.read_text() == '{"a": 1}\n'
    journal.append({"b": "ü\n"})
  with Journal(journal.path) as again:
    assert again.read() == [{"a": 1}, {"b": "ü\n"}]


def test_one_writes_at_a_time(tmp_path):
  path = tmp_path / "j.jsonl"
  with Journal(path) as journal:
    with pytest.raises(ValueError, match="another process writes it"):
      Journal(path)
    journal.append({"a": 1})
  Journal(path).close()


def test_an_unfinished_line_is_cut_off(tmp_path):
  path = tmp_path / "j.jsonl"
  path.write_text('{"a": 1}\n{"b"')
  with Journal(path) as journal:
    assert journal.read() == [{"a": 1}]
    journal.append({"c": 3})
    assert journal.read() == [{"a": 1}, {"c": 3}]


def test_a_line_that_does_not_fit_is_taken_back_whole(tmp_path):
  path = tmp_path / "j.jsonl"
  with Journal(path) as journal:
    journal.append({"a": "x" * 100})
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (150, before[1]))
    try:
      with pytest.raises(OSError, match="make room and run the same") as caught:
        journal.append({"b": "y" * 100})
    finally:
      resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(path)
    assert journal.read() == [{"a": "x" * 100}]
    journal.append({"c": 3})
    assert journal.read()[1:] == [{"c": 3}]


def test_a_kill_costs_the_line_in_flight_at_most(tmp_path):
  path = tmp_path / "j.jsonl"
  code = (
    "import sys\nfrom jaxkern.data.journal import Journal\n"
    f"with Journal({str(path)!r}) as j:\n"
    "  for k in range(10**6):\n"
    "    j.append({'k': k, 'text': 'x' * 3000})\n"
    "    print(k, flush=True)\n"
  )
  with subprocess.Popen(
    [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True
  ) as process:
    for _ in range(20):
      process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    said = process.stdout.read().splitlines()
  done = max([19, *map(int, filter(str.isdigit, said))])
  with Journal(path) as journal:
    kept = [record["k"] for record in journal.read()]
  assert kept == list(range(len(kept))) and len(kept) >= done + 1
  assert json.loads(path.read_text().splitlines()[-1])["k"] == kept[-1]
