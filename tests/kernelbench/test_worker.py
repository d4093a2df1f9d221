"""The torch worker: sizes, costs, walls around a job."""

import ctypes
import os
import platform
import signal
import socket
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from jaxkern.tasks import kernelbench, kernelbench_function
from jaxkern.tasks.kernelbench import BUDGET
from jaxkern.tasks.torch_worker import TorchWorker

HEAD = "import torch\nimport torch.nn as nn\n"
LARGE = (
  HEAD
  + """
class Model(nn.Module):
  def __init__(self, width, groups):
    super().__init__()
    self.layer = nn.Linear(width, 1024 * 4)
    self.norm = nn.GroupNorm(groups, 1024 * 4)
  def forward(self, x):
    return self.norm(self.layer(x))

batch = 2048
width = 4096
groups = 16
def get_inputs():
  return [torch.rand(batch, width)]
def get_init_inputs():
  return [width, groups]
"""
)


def measure(worker, source, directory, seconds=20):
  job = {"kind": "measure", "source": source, "budget": BUDGET}
  return worker.run({**job, "seconds": seconds}, directory)


def test_cost_is_that_of_the_formula(worker, tmp_path):
  made = measure(worker, LARGE.replace("self.norm(", "("), tmp_path)
  product = 2 * 2048 * 4096 * 4096
  assert made["full"]["flops"] == pytest.approx(product, rel=1e-2)
  assert made["full"]["terms"] == 4096
  arrays = 2048 * 4096 * 2 + 4096 * 4096 + 3 * 4096
  assert made["full"]["bytes"] == 4 * arrays


def test_sizes_are_halved_until_they_fit(worker, tmp_path):
  # The layer's own width is in the class, which stays as it is.
  made = measure(worker, LARGE, tmp_path)
  assert made["over_budget"] == ""
  assert made["reduced"]["flops"] <= BUDGET["flops"]
  assert made["reduced"]["traffic"] <= BUDGET["traffic"]
  lines = LARGE.splitlines()
  names = {lines[int(p.split(":")[0]) - 1] for p in made["sizes"]}
  assert "batch = 2048" in names and "width = 4096" in names
  assert all(value >= 2 for value in made["sizes"].values())


def test_sizes_that_must_agree_are_halved_together(worker, tmp_path):
  source = LARGE.replace("[width, groups]", "[4096, groups]")
  made = measure(worker, source, tmp_path)
  assert made["over_budget"] == ""
  width, given = (
    made["sizes"][f"{1 + n}:{line.index('4096')}"]
    for n, line in enumerate(source.splitlines())
    if line.startswith(("width", "  return [4096"))
  )
  assert width == given < 4096


def test_what_cannot_be_halved_is_refused_with_a_reason(worker, tmp_path):
  source = LARGE.replace("(batch, width)", "(9999, 4097)")
  source = source.replace("[width, groups]", "[4097, groups]")
  source += "\nassert get_inputs()[0].shape == (9999, 4097)\n"
  with pytest.raises(kernelbench.Refused, match="times what the cpu device"):
    kernelbench.prepare(worker, source, tmp_path)


JOB = (
  HEAD
  + """
class Model(nn.Module):
  def forward(self, x):
    return x
def get_inputs():
  return [torch.rand(4)]
def get_init_inputs():
  return []
"""
)


def test_endless_job_is_a_timeout(worker, tmp_path):
  job = {"kind": "measure", "source": JOB + "while True: pass\n"}
  job |= {"budget": BUDGET, "seconds": 1}
  answer = worker.run(job, tmp_path, timeout_s=1)
  assert answer["status"] == "timeout"
  assert measure(worker, JOB, tmp_path)["status"] == "ok"  # The next one runs.


def test_crash_is_a_status(worker, tmp_path):
  text = JOB + "import os\nos.abort()\n"
  answer = measure(worker, text, tmp_path)
  assert answer["status"] == "crash" and "exit" in answer["log"]


def test_job_cannot_write_or_read_elsewhere(worker, tmp_path):
  secret = tmp_path / "secret"
  secret.write_text("expected")
  for reach in (f"open({str(secret)!r}).read()", "open('/tmp/x-kb', 'w')"):
    answer = measure(worker, JOB + reach + "\n", tmp_path / "job")
    assert answer["status"] == "runtime_error"
    assert "PermissionError" in answer["log"]


@pytest.mark.skipif(
  ctypes.CDLL(None).syscall(444, None, 0, 1) < 4,
  reason="Landlock of this kernel knows no network",
)
def test_job_cannot_fetch_anything(worker, tmp_path):
  with socket.create_server(("127.0.0.1", 0)) as server:
    address = server.getsockname()
    text = f"import socket\nsocket.create_connection({address})\n"
    answer = measure(worker, JOB + text, tmp_path)
  assert answer["status"] == "runtime_error"
  assert "PermissionError" in answer["log"]


@pytest.mark.skipif(
  platform.machine() != "x86_64", reason="the filter has that machine's numbers"
)
def test_job_cannot_make_calls_that_no_candidate_needs(worker, tmp_path):
  """What would work, or fail otherwise, without the filter."""
  text = """
import ctypes, errno, socket, threading
libc = ctypes.CDLL(None, use_errno=True)
def refused(*call):
  ctypes.set_errno(0)
  return libc.syscall(*call) == -1 and ctypes.get_errno() == errno.EPERM
assert refused(425, 0, None)  # io_uring_setup: EINVAL or EFAULT
assert refused(310, 1 << 22, None, 0, None, 0, 0)  # process_vm_readv: ESRCH
assert refused(438, -1, 0, 0)  # pidfd_getfd: EBADF
assert refused(272, 0)  # unshare of nothing: 0
assert refused(39 | 0x40000000)  # getpid by its x32 number
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
  for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    try:
      socket.socket(family, kind)
      assert False, family
    except PermissionError:
      pass
seen = []
thread = threading.Thread(target=lambda: seen.append(refused(272, 0)))
thread.start(); thread.join()
assert seen == [True]
for end in socket.socketpair():
  end.close()
socket.socket(socket.AF_UNIX).close()
import subprocess
assert subprocess.run(["/bin/true"]).returncode == 0
"""
  answer = measure(worker, JOB + text, tmp_path)
  assert answer["status"] == "ok", answer["log"]


def test_job_cannot_write_answers_for_another(worker, tmp_path):
  """What it prints does not reach the worker's own channel."""
  text = JOB + 'print(\'{"timed_out": true, "exit": 0}\', flush=True)\n'
  assert measure(worker, text, tmp_path)["status"] == "ok"


def test_expected_outputs_are_those_of_float64(worker, tmp_path):
  source = JOB.replace("return x\n", "return x + 1e-9\n")
  made = kernelbench.prepare(worker, source, tmp_path)
  found = made.facts["reference"]
  assert found["tolerance"] == "derived"
  assert 0 < found["atol"] < 1e-4 and 0 < found["rtol"] < 1e-4
  single = source.replace("x + 1e-9", "x.float() + 1")
  made = kernelbench.prepare(worker, single, tmp_path)
  assert made.facts["reference"]["tolerance"].startswith("kernelbench")
  assert made.facts["reference"]["atol"] == kernelbench.TOLERANCE


def test_ill_conditioned_answers_do_not_widen_the_tolerance(worker, tmp_path):
  source = JOB.replace("return x\n", "return torch.sin(x * 1e9)\n")
  made = kernelbench.prepare(worker, source, tmp_path)
  found = made.facts["reference"]
  assert found["tolerance"].startswith("ill-conditioned")
  assert found["atol"] <= 0.06


def test_problem_is_a_function_of_arrays(worker, tmp_path):
  source = JOB.replace(
    "  def forward",
    "  def __init__(self):\n    super()"
    ".__init__()\n    self.by = nn.Parameter(torch.ones(4))\n  def forward",
    1,
  )
  source = source.replace("return x\n", "return x * self.by\n")
  prepared = kernelbench.prepare(worker, source, tmp_path / "cache")
  made = kernelbench_function.function(worker, prepared, tmp_path / "calls")
  assert set(made.inputs) == {"x0", "by"} == set(made.others)
  assert not np.array_equal(made.inputs["x0"], made.others["x0"])
  assert np.all(made.inputs["by"] == 1) and np.all(made.others["by"] > 1)
  given = {"x0": np.array([1, 2, 3, 4], np.float32)}
  given["by"] = np.array([2, 0, -1, 10], np.float32)
  assert made.reference(given)["y0"].tolist() == [2, 0, -3, 40]
  rtol, atol = made.tolerance
  assert rtol > 0 and atol > 0


def test_job_does_not_hold_the_pipe_of_answers(worker, tmp_path):
  text = """
import os
open("held.txt", "w").write("".join(
  f"{fd}: {os.readlink(f'/proc/self/fd/{fd}')}\\n"
  for fd in os.listdir("/proc/self/fd")
  if os.path.lexists(f"/proc/self/fd/{fd}")
))
for fd in range(3, 64):
  try:
    os.write(fd, b'{"timed_out": true, "exit": 0}\\n')
  except OSError:
    pass
"""
  assert measure(worker, JOB + text, tmp_path)["status"] == "ok"
  held = (tmp_path / "held.txt").read_text()
  assert "1: " in held and "pipe:" not in held


@pytest.mark.parametrize(
  "left",
  [
    "os.mkfifo('result.json')",
    "open('result.json', 'w').write('{')",
    "open('result.json', 'w').write('{}')",
    "os.symlink('/etc/passwd', 'result.json')",
    "os.unlink('job.log')",
    "os.unlink('job.log'); os.mkfifo('job.log')",
    "os.truncate('job.log', 1 << 32)",
  ],
)
def test_job_that_leaves_no_result_is_a_crash(worker, tmp_path, left):
  text = f"{JOB}import os\n{left}\nos._exit(0)\n"
  answer = measure(worker, text, tmp_path)
  assert answer["status"] == "crash"
  assert answer["log"].startswith("exit 0: ") and len(answer["log"]) < 9000


def test_worker_that_died_after_a_job_is_started_anew(tmp_path):
  with TorchWorker(python=_worker(tmp_path, "exit 0")) as own:
    for _ in range(2):
      answer = own.run({}, tmp_path / "job")
      assert answer["status"] == "ok"
      own._process.wait(10)


def test_worker_that_dies_during_a_job_costs_that_job(tmp_path):
  python = _worker(tmp_path, "", before="read line; exit 1")
  with TorchWorker(python=python) as own:
    for _ in range(2):
      answer = own.run({}, tmp_path / "job")
      assert answer["status"] == "crash" and "died" in answer["log"]


def test_worker_that_cannot_be_told_of_a_job_is_our_fault(tmp_path):
  python = _worker(tmp_path, "", before="exec 0<&-; echo closed; sleep 5")
  with TorchWorker(python=python) as own:
    own._start()
    assert own._process.stdout.readline() == "closed\n"
    answer = own.run({}, tmp_path / "job")
    assert answer["status"] == "infra_error" and "died" in answer["log"]


@pytest.mark.usefixtures("worker")  # which skips where torch is missing
def test_stopped_worker_costs_one_job_and_leaves_nothing(tmp_path):
  text = JOB + "import pathlib, os, time\n"
  text += "pathlib.Path('pid').write_text(str(os.getpid()))\ntime.sleep(600)\n"
  job = {"kind": "measure", "source": text, "budget": BUDGET, "seconds": 20}
  with TorchWorker(late_s=1) as own, ThreadPoolExecutor(1) as pool:
    assert measure(own, JOB, tmp_path / "first")["status"] == "ok"
    late = pool.submit(own.run, job, tmp_path / "job", timeout_s=8)
    pid = tmp_path / "job" / "pid"
    deadline = time.monotonic() + 30
    while not (pid.exists() and pid.read_text()):
      assert time.monotonic() < deadline
      time.sleep(0.05)
    old = own._process.pid
    os.kill(old, signal.SIGSTOP)
    answer = late.result(60)
    assert answer["status"] == "infra_error"
    assert "did not answer in time" in answer["log"]
    for gone in (old, int(pid.read_text())):
      assert _ended(gone)
    assert measure(own, JOB, tmp_path / "next")["status"] == "ok"


def test_idle_worker_that_is_stopped_can_be_closed(tmp_path):
  own = TorchWorker(python=_worker(tmp_path, "sleep 600", before=""))
  own._start()
  process = own._process
  os.kill(process.pid, signal.SIGSTOP)
  own.close()
  assert process.returncode == -signal.SIGKILL


def test_half_an_answer_is_not_waited_for(tmp_path):
  python = _worker(tmp_path, "", before="read line; printf '{'; sleep 600")
  with TorchWorker(python=python, late_s=0.5) as own:
    for _ in range(2):
      answer = own.run({}, tmp_path / "job", timeout_s=0.5)
      assert answer["status"] == "infra_error"


def _ended(pid, seconds=10):
  """Whether the process goes within that time; it may be no child of ours."""
  deadline = time.monotonic() + seconds
  while time.monotonic() < deadline:
    try:
      with open(f"/proc/{pid}/stat") as file:
        if file.read().rpartition(")")[2].split()[0] == "Z":
          return True
    except (FileNotFoundError, ProcessLookupError):
      return True
    time.sleep(0.05)
  return False


def _worker(directory, after, before="read line"):
  """A program that behaves as a worker does, up to a point."""
  path = directory / "python"
  path.write_text(f"""#!/bin/sh
echo '{{"torch": "0"}}'
{before}
echo '{{"status": "ok"}}' > {directory}/job/result.json
echo '{{"timed_out": false, "exit": 0}}'
{after}
""")
  path.chmod(0o755)
  return str(path)
