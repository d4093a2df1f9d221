// The cpu device's rewriter loses no text and moves no line; a breach of the
// rules is named and shown; what is hopeless has a reason, and the form of a
// text no comments.
#include "backends/cpu/rewrite.h"

#include <algorithm>

#include "backends/cpu/features.h"
#include "core/hopeless.h"
#include "core/lexer.h"
#include "core/normalise.h"
#include "core/rules.h"
#include "target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string source(reinterpret_cast<const char*>(data), size);
  std::string together;
  for (const jaxkern::Token& token : jaxkern::Lex(source)) {
    Require(!token.text.empty(), "a token has text");
    together += token.text;
  }
  Require(together == source, "the tokens are the source");
  jaxkern::UnsupportedFeature(source);
  const std::string rewritten = jaxkern::RewriteCuda(source);
  Require(std::count(source.begin(), source.end(), '\n') ==
              std::count(rewritten.begin(), rewritten.end(), '\n'),
          "every line is kept");
  if (const auto breach = jaxkern::FindBreach(source)) {
    Require(!breach->rule.empty() && !breach->evidence.empty() &&
                !breach->message.empty(),
            "a breach has a rule, evidence and a message");
  }
  if (const auto hopeless = jaxkern::FindHopeless(source, "launch")) {
    Require(!hopeless->stage.empty() && hopeless->log.size() > 1 &&
                hopeless->log.back() == '\n',
            "hopeless text has a reason");
  }
  if (const auto form = jaxkern::Normalise(source)) {
    for (const jaxkern::Token& token : jaxkern::Lex(*form)) {
      Require(
          token.kind != jaxkern::Token::Kind::kSpace || token.text[0] != '/',
          "a form has no comments");
    }
  }
  return 0;
}
