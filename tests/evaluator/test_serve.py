"""jaxkern-eval --serve, as a program in another language would drive it."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

import pytest

from jaxkern.tasks.bundle import write_bundle

from .conftest import KERNEL, kernel

PROGRAM = pathlib.Path(sys.executable).parent / "jaxkern-eval"
ENDLESS = kernel("while (true) ((volatile float*)y)[i] = 1;")


@pytest.fixture(scope="module")
def bundle(task, tmp_path_factory):
  directory = tmp_path_factory.mktemp("serve") / "bundle"
  write_bundle(task, directory, seed=0)
  return directory


@pytest.fixture
def place(tmp_path):
  """Scratch space of a server, to be empty in the end."""
  place = tmp_path / "place"
  place.mkdir()
  yield place
  deadline = time.monotonic() + 10
  while list(place.iterdir()) and time.monotonic() < deadline:
    time.sleep(0.02)
  assert not list(place.iterdir())


@contextlib.contextmanager
def server(place, cache_dir, *flags):
  process = subprocess.Popen(
    [PROGRAM, f"--cache_dir={cache_dir}", *flags],
    env=os.environ | {"TMPDIR": str(place)},
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    stderr=subprocess.PIPE,
    text=True,
  )
  try:
    assert process.stderr.readline().startswith("cpu: ")
    yield process
  finally:
    process.kill()
    process.communicate()


class Client:
  """A connection that writes and reads lines of JSON."""

  def __init__(self, path):
    self.socket = socket.socket(socket.AF_UNIX)
    self.socket.settimeout(60)
    self.socket.connect(str(path))
    self.lines = self.socket.makefile("r")

  def send(self, **request):
    self.socket.sendall((json.dumps(request) + "\n").encode())

  def receive(self):
    return json.loads(self.lines.readline())

  def __enter__(self):
    return self

  def __exit__(self, *exception):
    self.lines.close()
    self.socket.close()


def test_stdin_to_stdout_until_the_input_ends(
  bundle, cache_dir, place, tmp_path
):
  file = tmp_path / "k.cu"
  file.write_text(KERNEL)
  requests = [
    {"id": "good", "file": str(file), "repetitions": 3},
    {"id": 2, "source": "launch"},
    {"id": 3, "source": KERNEL, "bundle": "/no/bundle"},
    {"id": 4, "source": KERNEL, "sauce": "hot"},
  ]
  lines = [json.dumps(r) for r in requests] + ["not JSON", ""]
  with server(place, cache_dir, "--serve", f"--bundle={bundle}") as process:
    out, _ = process.communicate("\n".join(lines), timeout=60)
  assert process.returncode == 0
  answers = {a["id"]: a for a in map(json.loads, out.splitlines())}
  assert len(out.splitlines()) == 5
  assert answers["good"]["status"] == "ok"
  assert len(answers["good"]["times_us"]) == 3
  assert answers[2]["status"] == "compile_error"
  assert "/no/bundle/problem.json: expected" in answers[3]["error"]
  assert 'unknown field "sauce"' in answers[4]["error"]
  assert "expected JSON" in answers[None]["error"]


def test_several_clients_share_a_socket(bundle, cache_dir, place):
  path = place / "eval.sock"
  flags = (f"--serve={path}", f"--bundle={bundle}")
  with server(place, cache_dir, *flags) as process:
    assert process.stderr.readline() == f"serving on {path}\n"
    assert path.stat().st_mode & 0o077 == 0
    with Client(path) as a, Client(path) as b:
      a.send(id="a1", source=ENDLESS, run_timeout_s=0.7)
      b.socket.sendall(b"nonsense\n")
      assert "error" in b.receive()
      b.send(id="b1", source=KERNEL)
      a.send(id="a2", source="nonsense")
      assert a.receive()["id"] == "a2"
      assert a.receive()["id"] == "a1"
      answer = b.receive()
      assert (answer["id"], answer["status"]) == ("b1", "ok")
    with Client(path) as c:  # who leaves early harms nobody
      c.send(id="c1", source=ENDLESS, run_timeout_s=0.5)
    with Client(path) as d:
      d.send(id="d1", source=KERNEL)
      assert d.receive()["status"] == "ok"
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 0
    assert not path.exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_leaves_nothing_behind(bundle, cache_dir, place, number):
  path = place / "eval.sock"
  flags = (f"--serve={path}", f"--bundle={bundle}")
  with server(place, cache_dir, *flags) as process:
    process.stderr.readline()
    with Client(path) as client:
      client.send(id=1, source=ENDLESS)
      time.sleep(0.5)
      process.send_signal(number)
      assert process.wait(timeout=10) == 1  # a request was not answered
      assert client.lines.readline() == ""


def test_a_signal_stops_stdin_too(bundle, cache_dir, place):
  flags = ("--serve", f"--bundle={bundle}")
  with server(place, cache_dir, *flags) as process:
    process.stdin.write(json.dumps({"source": ENDLESS}) + "\n")
    process.stdin.flush()
    time.sleep(0.5)
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=10) == 1


def test_a_killed_servers_socket_is_replaced(bundle, cache_dir, place):
  path = place / "eval.sock"
  with server(place, cache_dir, f"--serve={path}") as process:
    process.stderr.readline()
    second = subprocess.run(
      [PROGRAM, f"--serve={path}"], capture_output=True, text=True, timeout=30
    )
    assert second.returncode == 2
    assert "expected no other server at" in second.stderr
    process.kill()
    process.wait()
  assert path.exists()
  with server(place, cache_dir, f"--serve={path}") as process:
    assert process.stderr.readline() == f"serving on {path}\n"
    with Client(path) as client:
      client.send(id=1, bundle=str(bundle), source=KERNEL)
      assert client.receive()["status"] == "ok"
    process.terminate()
    assert process.wait(timeout=10) == 0


def test_a_reader_that_is_gone_ends_the_server(bundle, cache_dir, place):
  flags = ("--serve", f"--bundle={bundle}")
  with server(place, cache_dir, *flags) as process:
    process.stdout.close()
    assert process.wait(timeout=10) == 1
    process.stdout = None
