import pytest

from jaxkern.rollout import kernelbench_prompts

PROBLEM = "class Model:\n  '''{braces} stay'''\n"
TOML = """
[shared]
problem_statement = "use {backend_display}"
instruction = "go"
few_shot_example_arch = "a.py"
[backends.cuda]
backend_display = "CUDA"
one_shot_new_arch = "b.py"
[precision.fp32]
precision_display = "single"
[templates.common]
arch_block = "given:\\n{ref_arch_src}"
examples_block = "{examples_intro}\\n{examples_entries}"
example_intro_one_shot = "see {backend_display}"
example_entry_template = "{example_label}\\n{input_code}\\n{output_code}"
precision_note = "in {precision_display}"
[options.one_shot]
components = ["problem_statement", "examples_block", "arch_block",
  "precision_note", "instruction"]
"""


def test_own_prompt_has_example_problem_and_instruction():
  text = kernelbench_prompts.one_shot(PROBLEM)
  assert text.count("```python") == 3
  assert text.index("ModelNew") < text.index("{braces} stay")
  assert text.rindex("ModelNew") > text.index("{braces} stay")


def test_example_is_a_right_candidate_in_form():
  compile(kernelbench_prompts._EXAMPLE, "example", "exec")
  compile(kernelbench_prompts._ANSWER, "answer", "exec")


def test_checkouts_own_words_are_read(tmp_path):
  folder = tmp_path / "src" / "kernelbench" / "prompts"
  folder.mkdir(parents=True)
  (folder / "prompts.toml").write_text(TOML)
  (tmp_path / "a.py").write_text("x = {1}")
  (tmp_path / "b.py").write_text("y = {2}")
  text = kernelbench_prompts.one_shot(PROBLEM, tmp_path)
  parts = ["use CUDA", "see CUDA", "Example:", "x = {1}", "y = {2}"]
  parts += ["given:", "{braces} stay", "in single", "go"]
  places = [text.index(part) for part in parts]
  assert places == sorted(places)
  (folder / "prompts.toml").write_text(TOML.replace("[shared]", "[others]"))
  with pytest.raises(ValueError, match="shared"):
    kernelbench_prompts.one_shot(PROBLEM, tmp_path)


def test_older_checkout_gets_our_words(tmp_path):
  assert kernelbench_prompts.one_shot(
    PROBLEM, tmp_path
  ) == kernelbench_prompts.one_shot(PROBLEM)


def test_answer_is_the_last_block_with_the_class():
  text = "first\n```python\nx\n```\n```python\nclass ModelNew\n```\n"
  assert kernelbench_prompts.extract(text) == "class ModelNew\n"
  assert kernelbench_prompts.extract("```\na\n```") == "a\n"
  assert kernelbench_prompts.extract("plain") == "plain"
