#include "core/diagnostics.h"

#include <cctype>
#include <sstream>
#include <vector>

namespace jaxkern {
namespace {

bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

bool IsPathCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' ||
         c == '-' || c == '+' || c == '.' || c == '/' || c == '~' || c == '@';
}

/// "/usr/lib/gcc/x.h:3" becomes "x.h:3". A lone "/" or "/x" is a division.
std::string StripPaths(const std::string& line) {
  std::string kept;
  for (size_t i = 0; i < line.size();) {
    const bool starts =
        line[i] == '/' && (i == 0 || !IsPathCharacter(line[i - 1]));
    if (!starts) {
      kept += line[i++];
      continue;
    }
    size_t end = i;
    size_t last_slash = i;
    for (; end < line.size() && IsPathCharacter(line[end]); ++end) {
      if (line[end] == '/') last_slash = end;
    }
    kept += line.substr(last_slash == i ? i : last_slash + 1,
                        end - (last_slash == i ? i : last_slash + 1));
    i = end;
  }
  return kept;
}

std::string Printable(const std::string& text) {
  std::string kept;
  for (unsigned char c : text) {
    if (c == '\r') continue;
    kept += (c >= 0x20 && c < 0x7f) || c == '\n' || c == '\t'
                ? static_cast<char>(c)
                : '?';
  }
  return kept;
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

enum class LineKind { kError, kWarning, kNote, kContext, kNoise, kOther };

/// Whether a line shows what a launch was rewritten to.
bool OfOurs(const std::string& line) { return Contains(line, "jaxkern_"); }

LineKind Classify(const std::string& line) {
  // Where an include came from, and totals: of no use to the reader.
  for (const char* noise :
       {"In file included from ", "                 from ",
        "compilation terminated", " detected in the compilation of ",
        "In function ", "In member function ", "In constructor ",
        "At global scope:", "Remark: The warnings can be suppressed",
        "ld returned "}) {
    if (Contains(line, noise) && !Contains(line, "rror: ")) {
      return LineKind::kNoise;
    }
  }
  if (line.empty()) return LineKind::kNoise;
  // A line of source under a message: gcc numbers it, nvcc indents it.
  if (line[0] == ' ') return LineKind::kOther;
  if (Contains(line, "In instantiation of ") ||
      Contains(line, "required from ")) {
    return LineKind::kContext;
  }
  if (Contains(line, "error: ") || Contains(line, "): error") ||
      Contains(line, "undefined reference") || Contains(line, "error   : ") ||
      Contains(line, "multiple definition")) {
    return LineKind::kError;
  }
  if (Contains(line, "warning: ") || Contains(line, "): warning")) {
    return LineKind::kWarning;
  }
  return Contains(line, "note: ") ? LineKind::kNote : LineKind::kOther;
}

/// Messages with the lines that belong to them.
struct Messages {
  std::vector<std::string> errors, warnings;
};

Messages Split(const std::string& output) {
  Messages messages;
  std::string context;                          // precedes the next message
  std::vector<std::string>* current = nullptr;  // whose last message grows
  bool marks = false;  // the next line marks columns of a line left out
  for (const std::string& raw : Lines(Printable(output))) {
    const LineKind kind = Classify(raw);
    const std::string line = (raw[0] == ' ' ? raw : StripPaths(raw)) + "\n";
    switch (kind) {
      case LineKind::kNoise:
        break;
      case LineKind::kContext:
        context += line;
        break;
      case LineKind::kError:
      case LineKind::kWarning:
        // How a launch is carried out means nothing to who wrote it.
        if (OfOurs(context)) context.clear();
        current =
            kind == LineKind::kError ? &messages.errors : &messages.warnings;
        current->push_back(context + line);
        context.clear();
        break;
      case LineKind::kNote:
      case LineKind::kOther:
        if (current != nullptr && !marks && !OfOurs(raw)) {
          current->back() += line;
        }
        marks = raw[0] == ' ' && OfOurs(raw);
        break;
    }
  }
  return messages;
}

/// The first `limit` bytes, whole lines where possible.
std::string Head(const std::string& text, size_t limit) {
  if (text.size() <= limit) return text;
  const size_t cut = text.rfind('\n', limit);
  return text.substr(0, cut == std::string::npos ? limit : cut + 1);
}

}  // namespace

std::string CompilerLog(const std::string& output) {
  const Messages messages = Split(output);
  if (messages.errors.empty() && messages.warnings.empty()) {
    return CleanTail(output, kLogBytes);
  }
  constexpr size_t kReserve = 40;  // for the count of what was dropped
  std::string log;
  size_t shown = 0;
  for (const std::string& message : messages.errors) {
    const size_t room = kLogBytes - kReserve - log.size();
    if (shown > 0 && message.size() > room) break;
    log += Head(message, room);
    ++shown;
  }
  const size_t hidden = messages.errors.size() - shown;
  if (hidden > 0) {
    return log + "... and " + std::to_string(hidden) + " more errors\n";
  }
  for (const std::string& message : messages.warnings) {
    if (log.size() + message.size() > kLogBytes - kReserve) break;
    log += message;
  }
  return log;
}

std::string CleanMessage(const std::string& text, size_t limit) {
  return Head(StripPaths(Printable(text)), limit);
}

std::string CleanTail(const std::string& text, size_t limit) {
  const std::string clean = StripPaths(Printable(text));
  if (clean.size() <= limit) return clean;
  const size_t start = clean.find('\n', clean.size() - limit);
  return start == std::string::npos || start + 1 >= clean.size()
             ? clean.substr(clean.size() - limit)
             : clean.substr(start + 1);
}

}  // namespace jaxkern
