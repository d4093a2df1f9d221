/// Finding one's way among a source's tokens. Space and directives' ends are
/// passed over; nothing is expanded.
#ifndef JAXKERN_CORE_TOKEN_WALK_H_
#define JAXKERN_CORE_TOKEN_WALK_H_

#include <cstddef>
#include <string>
#include <vector>

#include "core/lexer.h"

namespace jaxkern {

using Tokens = std::vector<Token>;

inline constexpr size_t kNone = std::string::npos;

/// Index of the next token from `at` on that is not space; size() if none.
size_t Next(const Tokens& tokens, size_t at);

/// Index of the last token before `at` that is not space; kNone if none.
size_t Previous(const Tokens& tokens, size_t at);

bool Is(const Tokens& tokens, size_t at, const char* text);

/// Index of the bracket that closes the one at `open`; kNone if there is none.
size_t Closing(const Tokens& tokens, size_t open);

/// Index of the bracket that the one at `close` ends, going backwards.
size_t Opening(const Tokens& tokens, size_t close);

/// Index of the < that begins the template arguments which end at `close`.
size_t OpeningAngle(const Tokens& tokens, size_t close);

/// First token of the expression that ends before the <<< at `chevrons`: a
/// qualified name with template arguments, or a parenthesised expression.
size_t Callee(const Tokens& tokens, size_t chevrons);

/// Where a launch's parts are. Its kernel is [callee, chevrons), its
/// configuration ends before `close`, its arguments are in [open, end].
struct Launch {
  size_t callee = kNone, chevrons = kNone, close = kNone, open = kNone,
         end = kNone;
};

/// The launch whose <<< is at `chevrons`; callee is kNone if it is not well
/// formed.
Launch FindLaunch(const Tokens& tokens, size_t chevrons);

/// The text of [begin, end).
std::string Text(const Tokens& tokens, size_t begin, size_t end);

/// Its line breaks alone, in the form the place allows.
std::string Lines(const std::string& text, bool directive);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_TOKEN_WALK_H_
