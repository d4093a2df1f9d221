#include "core/problem.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace jaxkern {
namespace {

using nlohmann::json;

constexpr size_t kAlignment = 64;
constexpr int64_t kMaxElements = int64_t{1} << 40;

/// A place in problem.json, for messages.
struct Field {
  std::string file;
  std::string path;
  const json& value;

  [[noreturn]] void Fail(const std::string& expected) const {
    Fail(expected, value.is_structured() ? value.type_name() : value.dump());
  }
  [[noreturn]] void Fail(const std::string& expected,
                         const std::string& got) const {
    throw std::invalid_argument(file + ": " + path + ": expected " + expected +
                                ", got " + got);
  }
  Field At(const std::string& key) const {
    if (!value.is_object()) Fail("an object");
    const std::string inner = path == "top level" ? key : path + "." + key;
    const auto found = value.find(key);
    if (found == value.end()) {
      Field{file, inner, value}.Fail("a value", "nothing");
    }
    return {file, inner, *found};
  }
  Field At(size_t index) const {
    return {file, path + "[" + std::to_string(index) + "]", value[index]};
  }
  size_t Size() const {
    if (!value.is_array()) Fail("an array");
    return value.size();
  }
  std::string String() const {
    if (!value.is_string()) Fail("a string");
    return value.get<std::string>();
  }
  double Number() const {
    if (!value.is_number()) Fail("a number");
    return value.get<double>();
  }
  int64_t Integer() const {
    const bool fits = !value.is_number_unsigned() ||
                      value.get<uint64_t>() <= uint64_t{INT64_MAX};
    if (!value.is_number_integer() || !fits) Fail("an integer of 64 bits");
    return value.get<int64_t>();
  }
  bool Bool() const {
    if (!value.is_boolean()) Fail("true or false");
    return value.get<bool>();
  }
  /// A name that means a file of the bundle itself.
  std::string FileName() const {
    const std::string name = String();
    if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) {
      Fail("a file name without directories");
    }
    return name;
  }
};

bool IsIdentifier(const std::string& name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  return name.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
             "_") == std::string::npos;
}

Argument ReadArgument(const Field& field) {
  Argument argument;
  argument.name = field.At("name").String();
  if (!IsIdentifier(argument.name)) field.At("name").Fail("a C++ identifier");
  const std::string kind = field.At("kind").String();
  if (kind == "input") {
    argument.kind = Argument::Kind::kInput;
  } else if (kind == "output") {
    argument.kind = Argument::Kind::kOutput;
  } else if (kind == "attribute") {
    argument.kind = Argument::Kind::kAttribute;
  } else {
    field.At("kind").Fail("\"input\", \"output\" or \"attribute\"");
  }
  const bool attribute = argument.kind == Argument::Kind::kAttribute;
  const std::optional<Dtype> dtype = ParseDtype(field.At("dtype").String());
  const bool usable =
      dtype && (!attribute || *dtype == Dtype::kInt64 ||
                *dtype == Dtype::kFloat32 || *dtype == Dtype::kBool);
  if (!usable) {
    field.At("dtype").Fail(
        attribute ? "\"int64\", \"float32\" or \"bool\" for an attribute"
                  : "\"float64\", \"float32\", \"float16\", \"bfloat16\", "
                    "\"int64\", \"int32\", \"int8\", \"uint8\" or \"bool\"");
  }
  argument.dtype = *dtype;
  if (attribute) return argument;
  const Field shape = field.At("shape");
  for (size_t i = 0; i < shape.Size(); ++i) {
    if (shape.At(i).value.is_string()) {
      argument.shape.emplace_back(shape.At(i).String());
    } else if (shape.At(i).Integer() >= 0) {
      argument.shape.emplace_back(shape.At(i).Integer());
    } else {
      shape.At(i).Fail("an extent or the name of an attribute");
    }
  }
  return argument;
}

std::vector<Argument> ReadArguments(const Field& field) {
  std::vector<Argument> arguments;
  bool has_output = false;
  for (size_t i = 0; i < field.Size(); ++i) {
    arguments.push_back(ReadArgument(field.At(i)));
    has_output |= arguments.back().kind == Argument::Kind::kOutput;
    for (size_t j = 0; j < i; ++j) {
      if (arguments[j].name == arguments[i].name) {
        field.At(i).At("name").Fail("a name not used before");
      }
    }
  }
  if (!has_output) field.Fail("at least one output", "none");
  return arguments;
}

Attribute ReadAttribute(const Field& field, Dtype dtype) {
  if (dtype == Dtype::kInt64) return field.Integer();
  if (dtype == Dtype::kBool) return field.Bool();
  return static_cast<float>(field.Number());
}

/// An extent given by name, from the case's attributes.
int64_t NamedExtent(const Field& attributes, const std::string& name) {
  const Field field = attributes.At(name);
  if (field.Integer() < 0) field.Fail("an extent");
  return field.Integer();
}

/// Arrays that will lie one behind the other; their files are looked at first,
/// so that each is read into its place.
struct Block {
  size_t bytes = 0;
  std::vector<std::pair<NpyFile, size_t>> files;  // and their offsets

  size_t Add(NpyFile file) {
    const size_t offset = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    bytes = offset + file.bytes;
    files.emplace_back(std::move(file), offset);
    return offset;
  }
};

/// A place for one array behind those already in *block.
Array ReadArray(const Field& files, const Field& attributes,
                const std::string& directory, const Argument& argument,
                int index, Block* block) {
  Array array;
  array.argument = index;
  int64_t elements = 1;
  for (const auto& extent : argument.shape) {
    const auto* name = std::get_if<std::string>(&extent);
    array.shape.push_back(name != nullptr ? NamedExtent(attributes, *name)
                                          : std::get<int64_t>(extent));
    if (array.shape.back() > kMaxElements / std::max<int64_t>(elements, 1)) {
      attributes.Fail("arrays of less than 2^40 elements", "more");
    }
    elements *= array.shape.back();
  }
  NpyFile file = OpenNpy(directory + "/" + files.At(argument.name).FileName(),
                         argument.dtype, array.shape);
  array.bytes = file.bytes;
  array.offset = block->Add(std::move(file));
  return array;
}

double ReadTolerance(const Field& field) {
  if (!(field.Number() >= 0) || std::isinf(field.Number())) {
    field.Fail("a number of at least 0");
  }
  return field.Number();
}

/// The blocks of all inputs and of all expected outputs.
struct Blocks {
  Block inputs, expected;
};

/// The arrays whose files `field` lists.
Variant ReadVariant(const Field& field, const Field& attributes,
                    const std::string& directory,
                    const std::vector<Argument>& arguments, Blocks* blocks) {
  Variant variant;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const int index = static_cast<int>(i);
    if (arguments[i].kind == Argument::Kind::kInput) {
      variant.inputs.push_back(ReadArray(field.At("inputs"), attributes,
                                         directory, arguments[i], index,
                                         &blocks->inputs));
    } else if (arguments[i].kind == Argument::Kind::kOutput) {
      variant.outputs.push_back(ReadArray(field.At("outputs"), attributes,
                                          directory, arguments[i], index,
                                          &blocks->expected));
    }
  }
  return variant;
}

Case ReadCase(const Field& field, const std::string& directory,
              const std::vector<Argument>& arguments, Blocks* blocks) {
  Case c;
  const Field attributes = field.At("attributes");
  c.tolerance.rtol = ReadTolerance(field.At("rtol"));
  c.tolerance.atol = ReadTolerance(field.At("atol"));
  c.timed = field.At("timed").Bool();
  for (const Argument& argument : arguments) {
    if (argument.kind != Argument::Kind::kAttribute) continue;
    const Field value = attributes.At(argument.name);
    c.attributes.push_back(ReadAttribute(value, argument.dtype));
    c.label += (c.label.empty() ? "" : ", ") + argument.name + "=" +
               value.value.dump();
  }
  if (field.value.contains("kind")) {
    c.label += (c.label.empty() ? "" : ", ") + field.At("kind").String();
  }
  static_cast<Variant&>(c) =
      ReadVariant(field, attributes, directory, arguments, blocks);
  if (!field.value.contains("variants")) return c;
  const Field variants = field.At("variants");
  for (size_t i = 0; i < variants.Size(); ++i) {
    c.others.push_back(
        ReadVariant(variants.At(i), attributes, directory, arguments, blocks));
  }
  return c;
}

/// Not cryptographic: it tells a changed bundle, not a forged one.
uint64_t Mix(uint64_t hash, const char* data, size_t bytes) {
  while (bytes > 0) {
    uint64_t word = 0;
    const size_t taken = std::min(bytes, sizeof word);
    std::memcpy(&word, data, taken);
    hash = (hash ^ word) * 0x9E3779B97F4A7C15ULL;
    hash ^= hash >> 32;
    data += taken;
    bytes -= taken;
  }
  return hash;
}

std::string HashOf(const std::string& text, const Problem& problem) {
  uint64_t hash = Mix(text.size(), text.data(), text.size());
  hash = Mix(hash, problem.inputs.data, problem.inputs.bytes);
  hash = Mix(hash, problem.expected.data, problem.expected.bytes);
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx",
                static_cast<unsigned long long>(hash));
  return digits;
}

[[noreturn]] void FailWithoutMemory(const std::string& what) {
  throw std::runtime_error("no memory for a problem's " + what + ": " +
                           std::strerror(errno));
}

void ReadInputs(const Block& block, Problem* problem) {
  Fd memory = MakeMemory(block.bytes);
  bool written = static_cast<bool>(memory);
  for (const auto& [file, offset] : block.files) {
    ReadNpy(file, [&, start = offset](size_t at, const char* piece, size_t n) {
      written = written && WriteMemory(memory, start + at, piece, n);
    });
  }
  if (!written) FailWithoutMemory("inputs");
  SealMemory(memory);
  problem->input_memory = std::move(memory);
  problem->inputs =
      Mapping(problem->input_memory.get(), block.bytes, /*writable=*/false);
  if (problem->inputs.bytes != block.bytes) FailWithoutMemory("inputs");
}

void ReadExpected(const Block& block, Problem* problem) {
  problem->expected = Mapping(block.bytes);
  if (problem->expected.bytes != block.bytes) FailWithoutMemory("outputs");
  for (const auto& [file, offset] : block.files) {
    char* to = problem->expected.data + offset;
    ReadNpy(file, [to](size_t at, const char* piece, size_t n) {
      std::memcpy(to + at, piece, n);
    });
  }
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) {
    throw std::invalid_argument(
        path + ": expected a readable file, got: " + std::strerror(errno));
  }
  return text.str();
}

/// What "baseline" names is called naive and comes first.
std::vector<Baseline> ReadBaselines(const Field& top,
                                    const std::string& directory) {
  std::vector<Baseline> baselines;
  const auto naive = top.value.find("baseline");
  if (naive != top.value.end() && !naive->is_null()) {
    const std::string file = top.At("baseline").FileName();
    baselines.push_back({"naive", ReadText(directory + "/" + file), {}});
  }
  if (!top.value.contains("baselines")) return baselines;
  const Field further = top.At("baselines");
  for (size_t i = 0; i < further.Size(); ++i) {
    const Field field = further.At(i);
    Baseline baseline;
    baseline.name = field.At("name").String();
    if (!IsIdentifier(baseline.name)) field.At("name").Fail("an identifier");
    for (const Baseline& other : baselines) {
      if (other.name == baseline.name) {
        field.At("name").Fail("a name not used before");
      }
    }
    baseline.source = ReadText(directory + "/" + field.At("file").FileName());
    const Field libraries = field.At("libraries");
    for (size_t k = 0; k < libraries.Size(); ++k) {
      baseline.libraries.push_back(libraries.At(k).String());
    }
    baselines.push_back(std::move(baseline));
  }
  if (baselines.size() > kMostBaselines) {
    further.Fail("at most " + std::to_string(kMostBaselines) + " with naive",
                 std::to_string(baselines.size()));
  }
  return baselines;
}

}  // namespace

std::shared_ptr<const Problem> ReadProblem(const std::string& directory) {
  const std::string file = directory + "/problem.json";
  const std::string text = ReadText(file);
  json parsed;
  try {
    parsed = json::parse(text);
  } catch (const json::exception& error) {
    throw std::invalid_argument(file + ": expected JSON, got: " + error.what());
  }
  const Field top{file, "top level", parsed};
  if (top.At("format").Integer() != 1) top.At("format").Fail("1");
  auto problem = std::make_shared<Problem>();
  problem->name = top.At("name").String();
  problem->arguments = ReadArguments(top.At("arguments"));
  const Field cases = top.At("cases");
  if (cases.Size() == 0) cases.Fail("at least one case", "none");
  Blocks blocks;
  for (size_t i = 0; i < cases.Size(); ++i) {
    problem->cases.push_back(
        ReadCase(cases.At(i), directory, problem->arguments, &blocks));
  }
  ReadInputs(blocks.inputs, problem.get());
  ReadExpected(blocks.expected, problem.get());
  problem->baselines = ReadBaselines(top, directory);
  if (parsed.contains("preparation")) {
    problem->preparation = top.At("preparation").String();
    if (problem->preparation != "free" && problem->preparation != "refused") {
      top.At("preparation").Fail("\"free\" or \"refused\"");
    }
  }
  std::string texts = text;
  for (const Baseline& baseline : problem->baselines) texts += baseline.source;
  problem->hash = HashOf(texts, *problem);
  return problem;
}

std::string ProblemHash(const std::string& directory) {
  return ReadProblem(directory)->hash;
}

}  // namespace jaxkern
