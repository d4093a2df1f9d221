// A line of --serve is answered with one line of JSON, whatever it holds.
#include "cli/request_line.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "target.h"

namespace {

using nlohmann::json;

/// By --replay, from a file that may hold anything.
void ReadResult(const std::string& text) {
  std::string once;
  try {
    once = ToJson(jaxkern::FromJson(text));
  } catch (const std::invalid_argument&) {
    return;
  }
  Require(ToJson(jaxkern::FromJson(once)) == once, "what is read is written");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const jaxkern::RequestLine line =
      jaxkern::ParseRequestLine(text, jaxkern::Request(), /*max_file=*/4096);
  const std::string answer =
      line.error.empty() ? jaxkern::ResultLine(line.id, jaxkern::Result())
                         : jaxkern::ErrorLine(line.id, line.error);
  Require(answer.find('\n') == answer.size() - 1, "one line");
  Require(json::accept(answer), "an answer is JSON");
  ReadResult(text);
  // With these fields changed the reader comes to all the others, too.
  const json changes = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!changes.is_object()) return 0;
  json result = json::parse(ToJson(jaxkern::Result()));
  result.merge_patch(changes);
  ReadResult(result.dump());
  return 0;
}
