#include "cli/request_line.h"

#include <charconv>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace jaxkern {
namespace {

using nlohmann::json;

constexpr size_t kShown = 80;  // bytes of a wrong value in a message

std::string Dump(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

[[noreturn]] void Fail(const std::string& field, const std::string& expected,
                       const json& got) {
  std::string shown = got.is_structured() ? got.type_name() : Dump(got);
  if (shown.size() > kShown) shown = shown.substr(0, kShown) + "...";
  throw std::invalid_argument(field + ": expected " + expected + ", got " +
                              shown);
}

std::string String(const std::string& field, const json& value) {
  if (!value.is_string()) Fail(field, "a string", value);
  return value.get<std::string>();
}

double Number(const std::string& field, const json& value) {
  if (!value.is_number()) Fail(field, "a number", value);
  return value.get<double>();
}

int Integer(const std::string& field, const json& value) {
  const double number = Number(field, value);
  if (!value.is_number_integer() || number < std::numeric_limits<int>::min() ||
      number > std::numeric_limits<int>::max()) {
    Fail(field, "an integer", value);
  }
  return static_cast<int>(number);
}

/// Large numbers travel as strings: many JSON readers round them.
uint64_t Seed(const std::string& field, const json& value) {
  const std::string text =
      value.is_string() ? value.get<std::string>() : Dump(value);
  uint64_t seed = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, seed);
  if (text.empty() || stopped != end || error != std::errc()) {
    Fail(field, "an integer from 0 to 2^64 - 1", value);
  }
  return seed;
}

bool Bool(const std::string& field, const json& value) {
  if (!value.is_boolean()) Fail(field, "true or false", value);
  return value.get<bool>();
}

void SetField(const std::string& field, const json& value, size_t max_file,
              Request* request) {
  if (field == "bundle") {
    request->problem = String(field, value);
  } else if (field == "source") {
    request->source = String(field, value);
  } else if (field == "file") {
    const std::string file = String(field, value);
    // Whoever waits at a pipe or a terminal keeps the server from ending.
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error)) {
      Fail(field, "the path of a readable kernel file", value);
    }
    request->source = ReadSource(file, max_file);
  } else if (field == "repetitions") {
    request->repetitions = Integer(field, value);
  } else if (field == "compile_timeout_s") {
    request->compile_timeout_s = Number(field, value);
  } else if (field == "run_timeout_s") {
    request->run_timeout_s = Number(field, value);
  } else if (field == "flush") {
    request->flush = Bool(field, value);
  } else if (field == "fresh_process") {
    request->fresh_process = Bool(field, value);
  } else if (field == "diagnose") {
    request->diagnose = Bool(field, value);
  } else if (field == "rules") {
    request->rules = Bool(field, value);
  } else if (field == "seed") {
    request->seed = Seed(field, value);
  } else {
    throw std::invalid_argument(
        "unknown field " + Dump(field).substr(0, kShown) +
        ": expected id, bundle, source, file, repetitions, flush, "
        "fresh_process, diagnose, rules, seed, compile_timeout_s or "
        "run_timeout_s");
  }
}

void Read(const std::string& text, size_t max_file, RequestLine* line) {
  const json object = json::parse(text);
  if (!object.is_object()) Fail("request", "a JSON object", object);
  if (const auto id = object.find("id"); id != object.end()) {
    if (id->is_structured()) Fail("id", "a string or a number", *id);
    line->id = Dump(*id);
  }
  if (object.contains("source") == object.contains("file")) {
    throw std::invalid_argument(object.contains("file")
                                    ? "expected either source or file, got both"
                                    : "expected source or file, got neither");
  }
  for (const auto& [field, value] : object.items()) {
    if (field != "id") SetField(field, value, max_file, &line->request);
  }
  if (line->request.problem.empty()) {
    throw std::invalid_argument(
        "bundle: expected the directory of a bundle, got nothing");
  }
}

}  // namespace

RequestLine ParseRequestLine(const std::string& text, const Request& defaults,
                             size_t max_file) {
  RequestLine line;
  line.request = defaults;
  try {
    Read(text, max_file, &line);
  } catch (const json::exception& error) {  // 1e999 is one, too
    // "[json.exception.parse_error.101] parse error at line 1, ...: why".
    const std::string why = error.what();
    line.error = "expected JSON, got: " + why.substr(why.find("] ") + 2);
  } catch (const std::invalid_argument& error) {
    line.error = error.what();
  }
  return line;
}

std::string ResultLine(const std::string& id, const Result& result) {
  return "{\"id\":" + id + "," + ToJson(result).substr(1) + "\n";
}

std::string ErrorLine(const std::string& id, const std::string& error) {
  return "{\"id\":" + id + ",\"error\":" + Dump(error) + "}\n";
}

std::string ReadSource(const std::string& file, size_t max_bytes) {
  std::ifstream stream(file == "-" ? "/dev/stdin" : file, std::ios::binary);
  std::string text;
  char chunk[1 << 14];
  while (stream.read(chunk, sizeof chunk) || stream.gcount() > 0) {
    text.append(chunk, static_cast<size_t>(stream.gcount()));
    if (text.size() <= max_bytes) continue;
    throw std::invalid_argument(file + ": expected at most " +
                                std::to_string(max_bytes) + " bytes, got more");
  }
  if (!stream.is_open() || stream.bad()) {
    throw std::invalid_argument(file + ": expected a readable kernel file");
  }
  return text;
}

}  // namespace jaxkern
