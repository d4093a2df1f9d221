// What reads a submission before any compiler does: its form, Python around the
// C++, what no compiler would take, and the text as the cache knows it.
#include "core/candidate.h"

#include <algorithm>
#include <cctype>

#include "core/hopeless.h"
#include "core/normalise.h"
#include "target.h"

using jaxkern::Candidate;
using jaxkern::Status;

namespace {

/// Whatever letters a compiler takes, but nothing that ends a name.
bool IsName(const std::string& name) {
  return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
    return c > 0 && c < 127 && std::isalnum(c) == 0 && c != '_' && c != ':' &&
           c != '$';
  });
}

void CheckCandidate(const std::string& source) {
  const Candidate candidate = jaxkern::ReadCandidate(source);
  Require(candidate.status == Status::kOk ||
              candidate.status == Status::kExtractError ||
              candidate.status == Status::kUnsupported,
          "a text is read, lacks something, or is not supported");
  Require((candidate.status == Status::kOk) == candidate.log.empty(),
          "what is refused is told why");
  if (candidate.status != Status::kOk) return;
  if (candidate.form == "native") {
    Require(candidate.unit == source, "a native text is left as it is");
  } else {
    Require(IsName(candidate.function.name), "a function is a name");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string source(reinterpret_cast<const char*>(data), size);
  CheckCandidate(source);
  const auto hopeless = jaxkern::FindHopeless(source, "int launch()");
  Require(!hopeless || !hopeless->log.empty(), "what is hopeless is told why");
  if (const auto form = jaxkern::Normalise(source)) {
    Require(jaxkern::Normalise(*form) == form, "one text has one form");
  }
  return 0;
}
