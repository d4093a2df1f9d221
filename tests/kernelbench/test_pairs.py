"""KernelBench-form problems and candidates, judged on the cpu device."""

import json
import os
import subprocess
import sys

import naive_pairs
import pytest

from jaxkern.evaluator.pairs import Judge
from jaxkern.tasks import kernelbench

BY_NAME = {pair.name: pair for pair in naive_pairs.PAIRS}
RELU = BY_NAME["relu"]
LINEAR = BY_NAME["divide_gelu"]


@pytest.mark.parametrize("pair", naive_pairs.PAIRS, ids=lambda p: p.name)
def test_right_candidate_is_right_and_planted_error_is_found(judge, pair):
  right = judge.judge(pair.reference, pair.candidate)
  assert right["status"] == "ok", right["log"]
  assert right["kernelbench_status"] == "ok"
  assert right["road"] == "extension" and right["us"] > 0
  assert pair.candidate.count(pair.error[0]) == 1
  wrong = judge.judge(pair.reference, pair.candidate.replace(*pair.error))
  assert wrong["status"] == "wrong_answer", wrong["log"]


def test_there_are_enough_of_them():
  assert len(naive_pairs.PAIRS) >= 20


def forward(text, candidate=RELU.candidate, call="return ext.run(x)"):
  assert call in candidate
  return candidate.replace(call, text)


@pytest.mark.parametrize(
  "text",
  [
    "return ext.run(x.cuda().contiguous().view(-1)).view(96, 1024)",
    "return ext.run(x.reshape(x.size(0) * 2, -1)).view(x.shape)",
    "assert x.is_cuda and x.device.type == 'cuda'\n    return ext.run(x)",
    "y = ext.run(x)\n    return ext.run(y)",
    "y = ext.run(x)\n    return y.contiguous()",
    "with torch.no_grad():\n      return ext.run(x.detach())",
  ],
)
def test_forward_may_pass_on_reshape_and_ask(judge, text):
  verdict = judge.judge(RELU.reference, forward(text))
  assert verdict["status"] == "ok", verdict["log"]


@pytest.mark.parametrize(
  ("text", "log"),
  [
    ("return torch.relu(x)", "torch's relu"),
    ("return ext.run(torch.relu(x))", "torch's relu"),
    ("return torch.relu(ext.run(x))", "torch's relu"),
    ("return ext.run(x) * 1.0", "torch's mul"),
    ("return ext.run(x * 1.0)", "torch's mul"),
    ("return ext.run(x.t().contiguous())", "torch's contiguous"),
    ("return ext.run(x[0:1])", "torch's __getitem__"),
    ("return ext.run(x) if x.sum() > 0 else ext.run(x)", "torch's sum"),
    ("return ext.run(x) if x[0, 0] > 0 else x", "torch's __getitem__"),
    ("x += 1\n    return ext.run(x)", "torch's add_"),
    ("return x", "does not call an extension"),
    ("return ext.run(x).sum()", ".sum of what the extension returned"),
    ("return ext.run(x=x)", "arguments by name"),
  ],
)
def test_forward_that_needs_torch_is_unsupported_here(judge, text, log):
  verdict = judge.judge(RELU.reference, forward(text))
  assert verdict["status"] == "unsupported"
  assert log in verdict["log"]


def test_outputs_allocated_in_python_are_outputs(judge):
  text = RELU.candidate.replace(
    "torch::Tensor run(torch::Tensor x)",
    "void run(torch::Tensor x, torch::Tensor y)",
  )
  text = text.replace("auto y = torch::empty_like(x);", "")
  text = text.replace("return y;", "")
  text = forward(
    "y = torch.empty_like(x)\n    ext.run(x, y)\n    return y", text
  )
  assert judge.judge(RELU.reference, text)["status"] == "ok"


TWO = RELU.candidate.replace(
  "torch::Tensor run(torch::Tensor x) {",
  "KIND run(torch::Tensor x) {",
).replace("return y;", "return {y, x};")


@pytest.mark.parametrize(
  "kind",
  ["std::vector<torch::Tensor>", "std::tuple<torch::Tensor, torch::Tensor>"],
)
@pytest.mark.parametrize(
  "text", ["y, _ = ext.run(x)\n    return y", "return ext.run(x)[0]"]
)
def test_one_of_several_results_is_taken(judge, kind, text):
  verdict = judge.judge(
    RELU.reference, forward(text, TWO.replace("KIND", kind))
  )
  assert verdict["status"] == "ok", verdict["log"]


def test_several_outputs_are_compared_in_order(judge):
  reference = RELU.reference.replace("torch.relu(x)", "torch.relu(x), x + 0")
  text = TWO.replace("KIND", "std::vector<torch::Tensor>")
  assert judge.judge(reference, text)["status"] == "ok"
  swapped = text.replace("{y, x}", "{x, y}")
  assert judge.judge(reference, swapped)["status"] == "wrong_answer"
  both = forward("a, b = ext.run(x)\n    return a, b", text)
  assert judge.judge(reference, both)["status"] == "ok"


def test_weights_are_the_candidates_own(judge):
  other = LINEAR.candidate.replace(
    "self.by = by", "self.by = by\n    self.linear.bias.data += 1"
  )
  assert judge.judge(LINEAR.reference, other)["status"] == "wrong_answer"


def test_text_computed_in_python_is_judged(judge):
  text = RELU.candidate.replace(
    'ext = load_inline(name="ext"',
    'source = source.replace("RELU", "fmaxf(v, 0.0f)")\n'
    'ext = load_inline(name="ext"',
  ).replace("y[i] = fmaxf(v, 0.0f)", "y[i] = RELU")
  assert judge.judge(RELU.reference, text)["status"] == "ok"


def test_compiler_messages_have_the_candidates_lines(judge):
  text = RELU.candidate.replace("float v = x[i];", "float v = z[i];")
  line = text[: text.index("z[i]")].count("\n") + 1
  verdict = judge.judge(RELU.reference, text)
  assert verdict["status"] == "compile_error"
  assert f"kernel.cu:{line}:" in verdict["log"]
  assert f"{line} |" in verdict["log"]


def test_native_kernel_is_judged_too(judge):
  text = """
  __global__ void kernel(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
  }
  extern "C" int launch(const float* x0, float* y0, cudaStream_t stream) {
    kernel<<<(96 * 1024 + 255) / 256, 256, 0, stream>>>(x0, y0, 96 * 1024);
    return cudaGetLastError();
  }"""
  verdict = judge.judge(RELU.reference, text)
  assert verdict["status"] == "ok", verdict["log"]
  assert verdict["road"] == "native"


def test_their_tolerance_is_wider(judge):
  loose = RELU.candidate.replace("fmaxf(v, 0.0f)", "fmaxf(v, 0.0f) * 1.00005f")
  verdict = judge.judge(RELU.reference, loose)
  assert verdict["status"] == "wrong_answer"
  assert verdict["kernelbench_status"] == "ok"


@pytest.mark.parametrize(
  ("text", "status", "log"),
  [
    ("import torch\nclass Other: pass", "extract_error", "no ModelNew"),
    ("import torch\nclass ModelNew(:", "extract_error", "line 2"),
    ("import torch\nimport absent_module", "unsupported", "absent_module"),
    ("import torch\n1 / 0", "runtime_error", "ZeroDivisionError"),
  ],
)
def test_candidates_fault_is_a_status(judge, text, status, log):
  verdict = judge.judge(RELU.reference, text)
  assert verdict["status"] == status and log in verdict["log"]


@pytest.mark.parametrize(
  "text",
  [
    "try:\n      return ext.run(x, x)\n"
    "    except Exception:\n      return torch.relu(x)",
    "return Model().forward(x)",
  ],
)
def test_fall_back_to_the_reference_is_no_answer(judge, text):
  verdict = judge.judge(RELU.reference, forward(text))
  assert verdict["status"] != "ok", verdict


def test_flags_of_a_candidate_do_not_reach_the_next_reference(judge):
  flags = "import torch\ntorch.set_default_dtype(torch.float64)\n"
  flags += "torch.relu = lambda x: x\n"
  judge.judge(RELU.reference, flags + RELU.candidate)
  other = RELU.reference + "# Another problem, prepared after it.\n"
  verdict = judge.judge(other, RELU.candidate)
  assert verdict["status"] == "ok", verdict["log"]


def test_reference_that_cannot_be_run_is_said(judge):
  verdict = judge.judge("import absent_module", RELU.candidate)
  assert verdict["status"] == "unsupported"
  assert "the reference cannot be run: needs absent_module" in verdict["log"]
  random = RELU.reference.replace("torch.relu(x)", "x + torch.rand(1)")
  verdict = judge.judge(random, RELU.candidate)
  assert "draws random numbers" in verdict["log"]


def test_problem_is_prepared_once(judge, monkeypatch):
  first = judge.prepare(RELU.reference)
  monkeypatch.setattr(kernelbench, "_run", None)
  assert judge.prepare(RELU.reference) == first
  assert first.directory.parent.stat().st_mode & 0o077 == 0


def test_checkout_is_read_from_its_root_or_its_folder(tmp_path):
  naive_pairs.write_checkout(tmp_path)
  (tmp_path / "KernelBench" / "level1" / "notes.txt").write_text("x")
  problems = kernelbench.problems(tmp_path)
  assert problems == kernelbench.problems(tmp_path / "KernelBench")
  assert len(problems) == len(naive_pairs.PAIRS)
  assert problems[0][:3] == (1, 1, "1_square.py")
  with pytest.raises(ValueError, match="level1"):
    kernelbench.problems(tmp_path / "KernelBench" / "level1")


def test_pair_by_hand_prints_one_object(worker, tmp_path):
  (tmp_path / "ref.py").write_text(RELU.reference)
  (tmp_path / "cand.py").write_text(RELU.candidate)
  command = [sys.executable, "-m", "jaxkern.bin.evaluate"]
  command += [f"--reference={tmp_path}/ref.py"]
  command += [f"--candidate={tmp_path}/cand.py", "--repetitions=4"]
  done = subprocess.run(
    command,
    capture_output=True,
    text=True,
    timeout=600,
    env={**os.environ, "JAXKERN_CACHE": str(tmp_path / "cache")},
  )
  assert done.returncode == 0, done.stderr
  verdict = json.loads(done.stdout)
  assert verdict["status"] == "ok" and verdict["times_us"]
  assert {"evidence", "us", "speedup", "kernelbench_status"} <= set(verdict)


def test_without_torch_it_is_said(judge, tmp_path):
  from jaxkern.tasks.torch_worker import TorchWorker

  empty = tmp_path / "python"
  empty.write_text("#!/bin/sh\necho \"No module named 'torch'\" >&2; exit 1\n")
  empty.chmod(0o755)
  with TorchWorker(python=str(empty)) as none:
    other = Judge(judge._evaluator, none, tmp_path / "cache")
    with pytest.raises(ValueError, match=r"extra \[torch\]"):
      other.judge(RELU.reference, RELU.candidate)


def test_folder_of_candidates_over_a_checkout(worker, tmp_path):
  naive_pairs.write_checkout(tmp_path)
  kernels = tmp_path / "kernels"
  kernels.mkdir()
  wrong = BY_NAME["square"].candidate.replace(*BY_NAME["square"].error)
  for number, text in ((19, RELU.candidate), (1, wrong)):
    name = f"level_1_problem_{number}_sample_0_kernel.py"
    (kernels / name).write_text(text)
  command = [sys.executable, "-m", "jaxkern.bin.evaluate"]
  command += [f"--kernelbench={tmp_path}", f"--kernels={kernels}", "--level=1"]
  command += ["--problems=1,19,20", f"--out={tmp_path}/out"]
  done = subprocess.run(
    [*command, "--repetitions=4"],
    capture_output=True,
    text=True,
    timeout=600,
    env={**os.environ, "JAXKERN_CACHE": str(tmp_path / "cache")},
  )
  assert done.returncode == 0, done.stderr
  made = json.loads(
    (tmp_path / "out/kernelbench_level1/eval_results.json").read_text()
  )
  right = {number: e["correctness"] for number, [e] in made.items()}
  assert right == {"1": False, "19": True, "20": False}
  told = {number: e["metadata"]["status"] for number, [e] in made.items()}
  assert told["1"] == "wrong_answer" and told["20"] == "extract_error"
