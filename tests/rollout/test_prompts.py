from jaxkern.rollout import prompts
from jaxkern.tasks import suite


def test_first_turn_names_task_shapes_and_signature():
  text = prompts.first_turn(suite.get("bias_relu"))
  assert text == (
    "<|task|>y = jax.nn.relu(x + b)\n"
    "x[rows, cols], b[cols], y[rows, cols]\n"
    'extern "C" int launch(const float* x, const float* b, float* y, '
    "int64_t rows, int64_t cols, cudaStream_t stream)\n"
    "<|kernel|>"
  )


def test_next_turn_shows_attempt_and_feedback_before_the_kernel():
  text = prompts.next_turn(suite.get("relu"), "CODE", "compile_error", "boom")
  assert text.endswith(
    "<|attempt|>CODE<|feedback|>compile_error\nboom<|kernel|>"
  )


def test_feedback_keeps_the_first_lines_and_is_bounded():
  log = "first\n\n  second  \nthird\nfourth"
  assert prompts.feedback("timeout", log) == "timeout\nfirst\nsecond\nthird"
  assert len(prompts.feedback("timeout", "x" * 9999)) == 240


def test_extract_takes_a_fenced_block_or_everything():
  assert prompts.extract("Here:\n```cpp\nint x;\n```\nDone") == "int x;\n"
  assert prompts.extract("int x;") == "int x;"
  assert prompts.extract("") == ""
