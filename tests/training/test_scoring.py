"""Scoring over tasks: files, resumption, endpoints, the page. No torch."""

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

from jaxkern.data.jsonl import read_lines
from jaxkern.models.policy import Policy, Sampled
from jaxkern.tasks import suite
from jaxkern.tokenizer import Tokenizer
from jaxkern.training import scoring, scoring_run, writers
from jaxkern.training.scoring import Item

NAUGHTY = "<script>alert(1)</script>"


def items(names=("relu", "add")):
  return [Item(n, 1, k, f"write {n}", n) for k, n in enumerate(names, 1)]


def judged(item, text):
  right = text == "right"
  return {
    "status": "ok" if right else "wrong_answer",
    "log": "" if right else NAUGHTY,
    "us": 1.0,
    "baseline_us": 2.0,
    "times_us": [1.0],
  }


def test_files_scores_and_page(tmp_path):
  def write(item, samples):
    return ["right" if item.task == "relu" else NAUGHTY for _ in samples]

  made = scoring.score(items(), write, judged, tmp_path, samples=2)
  assert made["all"]["filtered"]["pass@1"]["value"] == 0.5
  assert made["1"]["filtered"]["fast_1.5"]["value"] == 0.5
  rows = read_lines(tmp_path / "results.jsonl")
  assert len(rows) == 4 and {r["sample"] for r in rows} == {0, 1}
  page = (tmp_path / "evaluation.html").read_text()
  assert NAUGHTY not in page and "&lt;script&gt;" in page
  assert "<svg" in page and "relu" in page
  theirs = tmp_path / "kernelbench_level1" / "eval_results.json"
  assert list(json.loads(theirs.read_text())) == ["1", "2"]


def test_what_is_there_is_not_judged_again(tmp_path):
  asked = []

  def write(item, samples):
    asked.append((item.task, list(samples)))
    return ["right" for _ in samples]

  scoring.score(items(("relu",)), write, judged, tmp_path, samples=1)
  with open(tmp_path / "results.jsonl", "a") as file:
    file.write('{"task": "add", "sam')  # A killed writer's last line.
  scoring.score(items(), write, judged, tmp_path, samples=2)
  assert asked == [("relu", [0]), ("relu", [1]), ("add", [0, 1])]
  assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 4


def right(item, samples):
  return ["right" for _ in samples]


def test_verdicts_of_other_settings_are_refused(tmp_path):
  scoring.score(items(), right, judged, tmp_path, settings={"model": "a"})
  with pytest.raises(ValueError, match="settings.json: model: expected 'a' as"):
    scoring.score(items(), right, judged, tmp_path, settings={"model": "b"})
  (tmp_path / "settings.json").unlink()
  with pytest.raises(ValueError, match="expected settings.json beside it"):
    scoring.score(items(), right, judged, tmp_path, settings={"model": "b"})


def test_only_the_samples_that_are_wanted_are_scored(tmp_path):
  scoring.score(items(), right, judged, tmp_path, samples=3)
  made = scoring.score(items(), right, judged, tmp_path, samples=1)
  assert made["all"]["samples"] == 2
  assert len(read_lines(tmp_path / "results.jsonl")) == 6


def test_a_verdict_is_kept_while_the_next_text_is_written(tmp_path):
  def write(item, samples):
    deadline = time.monotonic() + 20
    while item.task == "add" and time.monotonic() < deadline:
      if read_lines(tmp_path / "results.jsonl"):
        raise OSError("the writer is gone")
      time.sleep(0.01)
    return ["right"]

  with pytest.raises(OSError, match="is gone"):
    scoring.score(items(), write, judged, tmp_path)
  assert len(read_lines(tmp_path / "results.jsonl")) == 1


def test_what_was_no_fault_of_the_kernel_is_judged_again(tmp_path):
  def broken(item, text):
    return {"status": "infra_error", "log": "no compiler"}

  made = scoring.score(items(), right, broken, tmp_path)
  assert made["all"]["filtered"]["pass@1"]["value"] == 0
  made = scoring.score(items(), right, judged, tmp_path)
  assert made["all"]["samples"] == 2
  assert made["all"]["filtered"]["pass@1"]["value"] == 1
  again = scoring_run.rescore(
    tmp_path / "results.jsonl", tmp_path / "again", [1]
  )
  assert again == made


def test_scoring_again_leaves_its_input_alone(tmp_path):
  scoring.score(items(), right, judged, tmp_path)
  path = tmp_path / "results.jsonl"
  with open(path, "a") as file:
    file.write('{"task": "add", "sam')  # Another process is writing it.
  before = path.read_bytes()
  made = scoring_run.rescore(path, tmp_path / "again", [1])
  assert made["all"]["samples"] == 2 and path.read_bytes() == before


KILLED = """
import sys, time
from jaxkern.training import scoring
def write(item, samples):
  if item.task == "t5" and sys.argv[2] == "die":
    time.sleep(60)
  return [item.task for _ in samples]
def judge(item, text):
  return {"status": "ok", "log": ""}
items = [scoring.Item(f"t{k}", 1, 0, "", "") for k in range(8)]
scoring.score(items, write, judge, sys.argv[1], threads=1)
"""


def test_killed_run_goes_on(tmp_path):
  command = [sys.executable, "-c", KILLED, str(tmp_path)]
  child = subprocess.Popen([*command, "die"], stderr=subprocess.PIPE)
  path = tmp_path / "results.jsonl"
  for _ in range(600):
    try:
      child.wait(0.1)
    except subprocess.TimeoutExpired:
      pass
    if path.exists() and path.read_text().count("\n") >= 3:
      break
  child.send_signal(signal.SIGKILL)
  child.communicate()
  before = path.read_text()
  assert 3 <= before.count("\n") < 8
  subprocess.run([*command, "go"], check=True, capture_output=True, timeout=300)
  after = path.read_text()
  assert after.startswith(before) and after.count("\n") == 8


def test_missing_kernel_is_a_failure(tmp_path):
  kernels = tmp_path / "kernels"
  kernels.mkdir()
  (kernels / "relu.cu").write_text("right")
  (kernels / "relu_1.cu").write_text("wrong")
  (kernels / "level_1_problem_2_sample_1_kernel.py").write_text("right")
  write = writers.folder(kernels)
  made = scoring.score(items(), write, judged, tmp_path / "out", samples=2)
  rows = read_lines(tmp_path / "out/results.jsonl")
  found = {(r["task"], r["sample"]): r["status"] for r in rows}
  assert found["relu", 0] == "ok" and found["relu", 1] == "wrong_answer"
  assert found["add", 0] == "extract_error" and found["add", 1] == "ok"
  assert made["all"]["tasks"] == 2
  with pytest.raises(ValueError, match="expected a folder"):
    writers.folder(kernels / "none")


class Server(http.server.BaseHTTPRequestHandler):
  """Fails once with 503, then answers; refuses the model 'unknown'."""

  asked: list = []
  failures = 1

  def do_POST(self):
    body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
    Server.asked.append((self.path, body, self.headers.get("Authorization")))
    code = 400 if body["model"] == "unknown" else 200
    if Server.failures:
      Server.failures, code = Server.failures - 1, 503
    self.send_response(code)
    self.end_headers()
    said = "Sure:\n```cpp\nright```\n"
    answer = {"choices": [{"message": {"content": said}}]}
    self.wfile.write(json.dumps(answer).encode())

  def log_message(self, *args):
    pass


@pytest.fixture
def server():
  made = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
  thread = threading.Thread(target=made.serve_forever)
  thread.start()
  yield f"http://127.0.0.1:{made.server_port}/v1"
  made.shutdown()
  thread.join()
  made.server_close()


def test_endpoint_is_asked_and_asked_again(server, tmp_path, monkeypatch):
  monkeypatch.setenv("OPENAI_API_KEY", "secret")
  write = scoring_run.choose_writer(
    kernels=None,
    endpoint=server,
    checkpoint=None,
    model="m",
    temperature=0.5,
    seed=0,
    samples=1,
    python=False,
  )
  made = scoring.score(items(), write, judged, tmp_path)
  assert made["all"]["filtered"]["pass@1"]["value"] == 1.0
  assert len(Server.asked) == 3  # One of them failed.
  path, body, key = Server.asked[-1]
  assert path == "/v1/chat/completions" and key == "Bearer secret"
  assert body["messages"] == [{"role": "user", "content": "write add"}]
  assert body["temperature"] == 0.5
  refused = writers.endpoint(server, "unknown", extract=str, wait_s=0)
  with pytest.raises(OSError, match="400"):
    refused(items()[0], [0])


def run(*arguments, **environment):
  command = [sys.executable, "-m", "jaxkern.bin.evaluate", *arguments]
  return subprocess.run(
    command,
    capture_output=True,
    text=True,
    timeout=600,
    env={**os.environ, **environment},
  )


def test_folder_of_kernels_over_our_tasks(tmp_path):
  kernels = tmp_path / "kernels"
  kernels.mkdir()
  name = suite.names("test", 1)[0]
  (kernels / f"{name}.cu").write_text(suite.get(name).baseline)
  out = tmp_path / "out"
  done = run(
    f"--kernels={kernels}",
    "--level=1",
    f"--out={out}",
    "--repetitions=6",
    JAXKERN_CACHE=str(tmp_path / "cache"),
  )
  assert done.returncode == 0, done.stderr
  assert done.stdout.split()[:4] == ["all", "level", "1", "pass@1"]
  rows = read_lines(out / "results.jsonl")
  [right] = [r for r in rows if r["status"] == "ok"]
  assert right["task"] == name and right["baseline_us"] > 0
  again = run(f"--results={out}/results.jsonl", f"--out={tmp_path}/again")
  assert again.returncode == 0, again.stderr
  assert (tmp_path / "again/summary.json").read_text() == (
    out / "summary.json"
  ).read_text()


def test_kernels_over_a_file_of_tasks(tmp_path):
  (tmp_path / "double.py").write_text(
    "from jaxkern.tasks.define import define\n"
    "TASK = define('double', 'x[n] -> y[n]', 'y = 2 * x', threads='n',\n"
    "  sizes={'n': (3, 900, 40, 50)}, kernel='y[i] = x[i] * 2.0f;')\n"
  )
  task = suite.get(str(tmp_path / "double.py"))
  kernels = tmp_path / "kernels"
  kernels.mkdir()
  (kernels / "double.cu").write_text(task.baseline)
  done = run(
    f"--set={tmp_path}/double.py",
    f"--kernels={kernels}",
    f"--out={tmp_path}/out",
    "--repetitions=6",
    JAXKERN_CACHE=str(tmp_path / "cache"),
  )
  assert done.returncode == 0, done.stderr
  [row] = read_lines(tmp_path / "out/results.jsonl")
  assert (row["task"], row["status"]) == ("double", "ok")
  (tmp_path / "others").mkdir()
  other = run(
    f"--set={tmp_path}/double.py",
    f"--kernels={tmp_path}/others",
    f"--out={tmp_path}/out",
    "--repetitions=6",
  )
  assert other.returncode == 2 and "kernels: expected '" in other.stderr
  assert other.stderr.count("\n") == 1


@pytest.mark.parametrize(
  ("arguments", "message"),
  [
    ([], "expected one of --kernels"),
    (["--kernels=/none"], "expected a folder"),
    (["--results=/none"], "expected verdicts"),
    (["--kernels=/tmp", "--roof=67e12"], "--roof: expected FLOP/s,bytes/s"),
    (["--kernels=/tmp", "--roof=0,1"], "--roof: expected FLOP/s,bytes/s"),
    (["--kernels=/tmp", "--kernelbench=/none"], "a folder with level1"),
    (["--checkpoint=/x", "--kernelbench=/y"], "tasks of our own"),
  ],
)
def test_misuse_is_one_line(arguments, message):
  done = run(*arguments)
  assert done.returncode == 2 and message in done.stderr
  assert done.stderr.count("\n") == 1


def test_policy_writes_every_sample_that_is_missing(monkeypatch, tmp_path):
  """A stand-in for a model says its prompt's task, so that texts differ."""
  tokenizer = Tokenizer.train(["right", "relu"], 300)
  asked = []

  def sample(params, key, prompts, prompt_mask, temperature, samples=1):
    asked.append((len(prompts) * samples, temperature))
    ids = [*tokenizer.encode("right"), tokenizer.end_id]
    written = len(prompts) * samples
    tokens = np.tile(np.array(ids, np.int32), (written, 1))
    mask = np.ones(tokens.shape, np.float32)
    return Sampled(tokens, mask, np.zeros_like(mask), ())

  config = SimpleNamespace(prompt_lengths=(64,))
  policy = Policy(None, sample, None)
  monkeypatch.setattr(writers.run, "load", lambda path: (config, tokenizer, {}))
  monkeypatch.setattr(writers.run, "make_policy", lambda *given: policy)
  write = scoring_run.choose_writer(
    kernels=None,
    endpoint=None,
    checkpoint="x",
    model="",
    temperature=0.5,
    seed=0,
    samples=3,
    python=False,
  )
  item = Item("relu", 1, 0, "", suite.get("relu"))
  made = scoring.score([item], write, judged, tmp_path, samples=3)
  assert made["all"]["samples"] == 3
  assert made["all"]["filtered"]["pass@1"]["value"] == 1.0
  assert asked == [(3, 0.5)]


def test_the_table_has_a_column_per_level_and_raw_scores_that_differ():
  score = {"value": 0.5, "interval": [0.25, 0.75]}
  other = {"value": 1.0, "interval": [1.0, 1.0]}
  summary = {
    "all": {
      "filtered": {"a": score, "b": score},
      "raw": {"a": other, "b": score},
    },
    "1": {"filtered": {"a": score}, "raw": {"a": score}},
  }
  lines = [line.rstrip() for line in scoring_run.table(summary).split("\n")]
  assert lines == [
    "       all                   level 1",
    "a      0.500 [0.250, 0.750]  0.500 [0.250, 0.750]",
    "a raw  1.000 [1.000, 1.000]  0.500 [0.250, 0.750]",
    "b      0.500 [0.250, 0.750]  -",
  ]
