import pytest

from jaxkern import tokenizer
from jaxkern.tokenizer import Tokenizer

OPERATIONS = {
  "relu": "fmaxf(v, 0.0f)",
  "square": "v * v",
  "tanh": "tanhf(v)",
  "scale": "v * alpha",
}

KERNEL = """#include <cuda_runtime.h>

__global__ void {name}_kernel(const float* {x}, float* {y}, int64_t n) {{
  int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {{
    float v = {x}[i];
    {y}[i] = {expression};
  }}
}}

extern "C" int launch(const float* {x}, float* {y}, int64_t n,
                      cudaStream_t stream) {{
  int block = {block};
  int grid = (int)((n + block - 1) / block);
  {name}_kernel<<<grid, block, 0, stream>>>({x}, {y}, n);
  return cudaGetLastError();
}}
"""


def corpus():
  return [
    KERNEL.format(name=name, x=x, y=y, expression=expression, block=block)
    for name, expression in OPERATIONS.items()
    for x, y in (("x", "y"), ("in", "out"), ("a", "b"))
    for block in (64, 128, 256)
  ]


@pytest.fixture(scope="module")
def trained():
  return Tokenizer.train(corpus(), 1024)


@pytest.mark.parametrize(
  "text",
  [
    "",
    "a",
    "  \n\n\t \r\n x",
    "naïve Σ x² → ŷ 内核 🚀",
    "\x00\x01\x7f",
    "never_seen_identifier<<<dim3(7), 9>>>(q);\n",
    "<|padding|> <| end |>",
    corpus()[0],
  ],
)
def test_decoding_an_encoding_gives_the_text_back(trained, text):
  assert trained.decode(trained.encode(text)) == text


def test_a_token_is_found_by_its_name(trained):
  assert trained.id_of(tokenizer.END) == trained.end_id
  assert trained.id_of("<|MASK|>") is None


def test_specials_are_single_tokens_with_fixed_ids(trained):
  for i, special in enumerate(tokenizer.SPECIALS):
    assert trained.encode(special) == [i]
  assert (trained.pad_id, trained.end_id) == (0, 1)
  ids = trained.encode("<|task|>x<|attempt|>y")
  assert ids == [2, *trained.encode("x"), 3, *trained.encode("y")]


def test_decoding_drops_specials_and_stops_at_the_end(trained):
  ids = trained.encode("<|kernel|>int x;<|pad|><|end|>int y;")
  assert trained.decode(ids) == "int x;"


def test_merges_follow_the_counts_in_the_corpus():
  # "ab" is the only pair that occurs twice, so it is the only merge.
  small = Tokenizer.train(["ab\n", "ab\n", "ca\n"], 300)
  assert small.vocab_size == 6 + 256 + 1
  assert len(small.encode("ab")) == 1
  assert len(small.encode("abca")) == 3


def test_no_token_spans_a_line_break_backwards_or_is_too_long(trained):
  tokens = [trained.decode([i]) for i in range(6, trained.vocab_size)]
  assert all("\n" not in token[1:] for token in tokens)
  assert max(map(len, tokens)) <= tokenizer.MAX_TOKEN_BYTES


def test_an_unseen_kernel_of_500_characters_takes_under_90_tokens(trained):
  kernel = KERNEL.format(
    name="sigmoid",
    x="x",
    y="out",
    expression="1.0f / (1.0f + expf(-v))",
    block=512,
  )
  assert len(kernel) > 480
  assert len(trained.encode(kernel)) < 90


def test_training_twice_gives_the_same_ids(trained):
  again = Tokenizer.train(iter(corpus()), 1024)
  assert again.vocab_size == trained.vocab_size
  assert again.encode(corpus()[5]) == trained.encode(corpus()[5])


def test_invalid_utf8_from_a_policy_decodes_to_replacement(trained):
  euro = trained.encode("€")
  assert trained.decode(euro[:1]) == "\ufffd"


def test_saving_and_loading_keeps_every_id(trained, tmp_path):
  path = tmp_path / "tokenizer.json"
  path.write_text("old")
  trained.save(path)
  loaded = Tokenizer.load(path)
  text = corpus()[0] + "<|end|>"
  assert loaded.encode(text) == trained.encode(text)
  assert loaded.vocab_size == trained.vocab_size
  assert [entry.name for entry in tmp_path.iterdir()] == ["tokenizer.json"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"version": "1.0"}'])
def test_a_broken_file_is_a_value_error_naming_it(tmp_path, text):
  path = tmp_path / "tokenizer.json"
  path.write_text(text)
  with pytest.raises(ValueError, match="tokenizer.json: not a tokenizer"):
    Tokenizer.load(path)


def test_a_file_with_other_specials_is_a_value_error(trained, tmp_path):
  path = tmp_path / "tokenizer.json"
  trained.save(path)
  path.write_text(path.read_text().replace("<|end|>", "</s>"))
  with pytest.raises(ValueError, match=r"token 1 to be <\|end\|>"):
    Tokenizer.load(path)


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
  with pytest.raises(FileNotFoundError):
    Tokenizer.load(tmp_path / "absent.json")


def test_too_small_a_vocabulary_is_a_value_error():
  with pytest.raises(ValueError, match="vocab_size: expected at least 262"):
    Tokenizer.train(["x"], 261)
