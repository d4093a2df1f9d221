import json

import numpy as np
import pytest
import small_checkpoints as small
import small_gguf
import tokenizers
from tokenizers import decoders, models, pre_tokenizers, trainers

from jaxkern.models import checkpoints

SPECIALS = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CORPUS = [
  "extern int launch(const float* x, float* y) { return 12345; }",
  "  if (i < n) y[i] = x[i] * 2.0f;\n\n  // it's the user's\n",
  "naïve façade 你好 안녕 émigré",
]
CHATML = (
  "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
  "{{ message['content'] }}<|im_end|>\n{% endfor %}"
  "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
# Of Qwen2's tokenizer.json, and of Llama 3's.
QWEN2 = (
  r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
  r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA3 = QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|", 1)


def split(pattern):
  return pre_tokenizers.Sequence(
    [
      pre_tokenizers.Split(tokenizers.Regex(pattern), "isolated"),
      pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]
  )


CUTS = {
  "gpt-2": pre_tokenizers.ByteLevel(add_prefix_space=False),
  "smollm": pre_tokenizers.Sequence(
    [
      pre_tokenizers.Digits(individual_digits=True),
      pre_tokenizers.ByteLevel(add_prefix_space=False),
    ]
  ),
  "qwen2": split(QWEN2),
  "llama-bpe": split(LLAMA3),
}


def trained(cut="smollm") -> tokenizers.Tokenizer:
  model = tokenizers.Tokenizer(models.BPE())
  model.pre_tokenizer = CUTS[cut]
  model.decoder = decoders.ByteLevel()
  model.train_from_iterator(
    CORPUS,
    trainers.BpeTrainer(
      vocab_size=320,
      special_tokens=SPECIALS,
      initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
      show_progress=False,
    ),
  )
  return model


def tokens_of(model):
  vocabulary = model.get_vocab()
  return sorted(vocabulary, key=vocabulary.get)


def config(model):
  return small.config("smollm2") | {"vocab_size": len(tokens_of(model))}


def weights(model):
  rows = np.zeros((len(tokens_of(model)), 24), np.float32)
  return small.weights("smollm2") | {"model.embed_tokens.weight": rows}


def adds(model, **changes):
  """Writes a tokenizer into a GGUF file as llama.cpp's converter does."""
  options = {"kind": "gpt2", "pre": "smollm", "chat": CHATML}
  tokens = tokens_of(model)
  options["merges"] = [
    " ".join(m) for m in json.loads(model.to_str())["model"]["merges"]
  ]
  options |= changes

  def add(writer):
    writer.add_tokenizer_model(options["kind"])
    writer.add_tokenizer_pre(options["pre"])
    writer.add_token_list(tokens)
    writer.add_token_types([3 if t in SPECIALS else 1 for t in tokens])
    if options["merges"]:
      writer.add_token_merges(options["merges"])
    writer.add_eos_token_id(options.get("eos", 2))
    writer.add_bos_token_id(1)
    writer.add_pad_token_id(0)
    writer.add_chat_template(options["chat"])

  return add


def write_gguf(path, model, **changes):
  return small_gguf.write(
    path, config(model), weights(model), extra=adds(model, **changes)
  )


def write_directory(directory, **changes):
  """tokenizer.json, tokenizer_config.json and config.json, no weights."""
  model = trained()
  model.save(str(directory / "tokenizer.json"))
  values = {
    "eos_token": {"content": "<|im_end|>", "special": True},
    "bos_token": "<|im_start|>",
    "pad_token": "<|endoftext|>",
    "chat_template": CHATML,
  }
  (directory / "tokenizer_config.json").write_text(json.dumps(values | changes))
  (directory / "config.json").write_text(json.dumps(config(model)))
  return directory


def text_of(path):
  return checkpoints.describe(path)[1]


@pytest.mark.parametrize("cut", CUTS)
def test_an_embedded_tokenizer_is_the_one_it_was_made_from(tmp_path, cut):
  model = trained(cut)
  got = text_of(write_gguf(tmp_path / "m.gguf", model, pre=cut)).tokenizer
  for line in [*CORPUS, "12345 x\r\n\r\n y  ", "<|im_start|>it's<|im_end|>"]:
    assert got.encode(line) == model.encode(line).ids
  line = CORPUS[2]
  assert got.decode(got.encode(line)) == line
  assert (got.end_ids, got.pad_id) == ((2,), 0)
  assert got.vocab_size == len(tokens_of(model))


def test_control_tokens_are_never_text_and_end_a_completion(tmp_path):
  got = text_of(write_gguf(tmp_path / "m.gguf", trained())).tokenizer
  ids = got.encode("<|im_start|>int x<|im_end|>int y")
  assert ids[0] == 1 and ids.count(2) == 1
  assert got.decode(ids) == "int x"


MESSAGES = [
  {"role": "user", "content": "Write <b>"},
  {"role": "assistant", "content": "int x;"},
  {"role": "user", "content": "Faster."},
]
RENDERED = (
  "<|im_start|>user\nWrite <b><|im_end|>\n"
  "<|im_start|>assistant\nint x;<|im_end|>\n"
  "<|im_start|>user\nFaster.<|im_end|>\n"
)


def test_a_conversation_is_rendered_by_the_checkpoints_own_template(tmp_path):
  text = text_of(write_gguf(tmp_path / "m.gguf", trained()))
  assert text.render(MESSAGES) == RENDERED + "<|im_start|>assistant\n"
  assert text.render(MESSAGES, prompt=False) == RENDERED


def test_a_directorys_tokenizer_and_template_are_read(tmp_path):
  text = text_of(write_directory(tmp_path))
  assert text.render(MESSAGES, prompt=False) == RENDERED
  assert text.tokenizer.end_ids == (2,)
  assert text.tokenizer.pad_id == 0
  line = CORPUS[0]
  assert text.tokenizer.encode(line) == trained().encode(line).ids


def test_every_end_token_counts_those_for_generation_first(tmp_path):
  write_directory(tmp_path)
  path = tmp_path / "generation_config.json"
  path.write_text(json.dumps({"eos_token_id": [0, 2]}))
  assert text_of(tmp_path).tokenizer.end_ids == (0, 2)


def test_a_template_may_lie_in_a_file_or_among_others(tmp_path):
  several = [
    {"name": "tool_use", "template": "no"},
    {"name": "default", "template": "{{ bos_token }}{{ extra | tojson }}"},
  ]
  text = text_of(write_directory(tmp_path, chat_template=several))
  assert text.render([], extra={"a": "<é>"}) == '<|im_start|>{"a": "<é>"}'
  (tmp_path / "chat_template.jinja").write_text("a file")
  assert text_of(tmp_path).render([]) == "a file"


@pytest.mark.parametrize(
  ("arguments", "expected"),
  [
    ("", '{"é": 1, "a": [2]}'),
    ("(separators=(',', ':'))", '{"é":1,"a":[2]}'),
    ("(sort_keys=true)", '{"a": [2], "é": 1}'),
    ("(ensure_ascii=true)", '{"\\u00e9": 1, "a": [2]}'),
    ("(indent=1)", '{\n "é": 1,\n "a": [\n  2\n ]\n}'),
  ],
)
def test_json_is_written_as_a_template_asks(tmp_path, arguments, expected):
  template = "{{ x | tojson" + arguments + " }}"
  text = text_of(write_directory(tmp_path, chat_template=template))
  assert text.render([], x={"é": 1, "a": [2]}) == expected


def test_a_saved_text_is_read_as_it_was(tmp_path):
  source = text_of(write_gguf(tmp_path / "m.gguf", trained()))
  (tmp_path / "out").mkdir()
  # Of a checkpoint that was here before; readers prefer it to the config's.
  (tmp_path / "out" / "chat_template.jinja").write_text("another's")
  source.save(tmp_path / "out")
  (tmp_path / "out" / "config.json").write_text(json.dumps(config(trained())))
  text = text_of(tmp_path / "out")
  assert text.tokenizer.end_ids == source.tokenizer.end_ids
  assert text.tokenizer.pad_id == source.tokenizer.pad_id
  assert text.render(MESSAGES) == source.render(MESSAGES)
  line = CORPUS[1]
  assert text.tokenizer.encode(line) == source.tokenizer.encode(line)


@pytest.mark.parametrize(
  ("template", "message"),
  [
    ("{{ messages.__class__.__mro__ }}", "access to attribute '__class__'"),
    ("{{ raise_exception('alternate roles') }}", "alternate roles"),
    ("{% if %}", "Expected an expression"),
    (
      "{{ messages[0].content + 1 }}",
      "tokenizer.json: chat template: can only",
    ),
    ("{{ messages[9].content }}", "tokenizer.json: chat template: list object"),
    ("{{ 1 // 0 }}", "tokenizer.json: chat template: .*by zero"),
    (None, "expected a chat template, got none"),
  ],
)
def test_a_template_that_fails_or_reaches_out_is_an_error(
  tmp_path, template, message
):
  text = text_of(write_directory(tmp_path, chat_template=template))
  with pytest.raises(ValueError, match=message):
    text.render(MESSAGES)


def test_a_tokenizer_with_more_tokens_than_rows_is_refused(tmp_path):
  write_directory(tmp_path)
  few = config(trained()) | {"vocab_size": 300}
  (tmp_path / "config.json").write_text(json.dumps(few))
  with pytest.raises(
    ValueError,
    match=f"^{tmp_path}/tokenizer.json: expected token ids below 300, the rows "
    r"of embed_tokens, got \d+",
  ):
    checkpoints.load(tmp_path)


@pytest.mark.parametrize(
  ("change", "message"),
  [
    ({"kind": "llama"}, "tokenizer.ggml.model: expected gpt2, got llama"),
    ({"pre": "odd"}, "tokenizer.ggml.pre: expected default or .*, got odd"),
    ({"merges": []}, "tokenizer.ggml.merges: expected merges, got none"),
    (
      {"merges": ["x yzzy"]},
      "tokenizer.ggml.merges: expected merges of its tok",
    ),
    ({"eos": 4000}, r"eos_token: expected an id below \d+, got 4000"),
  ],
)
def test_an_embedded_tokenizer_of_another_kind_is_refused(
  tmp_path, change, message
):
  path = write_gguf(tmp_path / "m.gguf", trained(), **change)
  with pytest.raises(ValueError, match=f"^{path}: {message}"):
    checkpoints.load(path)


def test_a_directory_whose_tokenizer_is_spoilt_is_refused(tmp_path):
  write_directory(tmp_path, eos_token=None)
  with pytest.raises(ValueError, match="eos_token: expected a token, got none"):
    checkpoints.load(tmp_path)
  (tmp_path / "tokenizer.json").write_text("{}")
  with pytest.raises(ValueError, match="tokenizer.json: expected a tokenizer:"):
    checkpoints.load(tmp_path)


def test_a_prompt_is_a_users_words_in_the_template(tmp_path):
  text = text_of(write_gguf(tmp_path / "m.gguf", trained()))
  tokenizer = text.framed()
  words = "write float y = x;"
  said = [{"role": "user", "content": words}]
  first = tokenizer.ask(words)
  assert first == tokenizer.encode(text.render(said))
  # A policy answers, ends by itself, and is asked again.
  answer = [*tokenizer.encode("kernel"), tokenizer.end_id]
  said.append({"role": "assistant", "content": "kernel"})
  said.append({"role": "user", "content": "again"})
  whole = [*first, *answer, *tokenizer.ask("again", again=True)]
  assert whole == tokenizer.encode(text.render(said))


def test_a_prompt_without_a_template_stands_alone(tmp_path):
  text = text_of(write_directory(tmp_path))._replace(chat=None)
  assert text.framed().ask("float") == text.tokenizer.encode("float")


def test_a_template_that_hides_the_words_is_refused(tmp_path):
  text = text_of(write_directory(tmp_path, chat_template="nothing"))
  with pytest.raises(ValueError, match="to show 'first words', got none"):
    text.framed()
