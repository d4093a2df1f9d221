#include "backends/cuda/split_stub.h"

#include <algorithm>
#include <array>
#include <vector>

namespace jaxkern {
namespace {

using Kind = Token::Kind;

constexpr std::array<const char*, 14> kTypeWords = {
    "int",    "float",    "double", "char",  "short", "long",     "bool",
    "signed", "unsigned", "void",   "const", "class", "typename", "auto"};

struct Parameter {
  std::string name;
  bool pack = false;
};

/// The parameters between the brackets at `open` and `close`; false if one has
/// no plain name.
bool Parameters(const Tokens& tokens, size_t open, size_t close,
                std::vector<Parameter>* parameters) {
  Parameter parameter;
  bool ended = false;  // its name has been seen
  int words = 0;
  for (size_t i = open + 1; i <= close; ++i) {
    const Token& token = tokens[i];
    if (token.directive) return false;
    if (token.kind == Kind::kSpace || token.kind == Kind::kNewline) continue;
    const std::string text = Spelling(token);
    if (i == close || text == ",") {
      if (words == 0 && i == close && parameters->empty()) return true;
      if (words < 2 || parameter.name.empty()) return false;
      parameters->push_back(parameter);
      parameter = {};
      ended = false;
      words = 0;
    } else if (text == "=" || text == "[") {
      ended = true;
      if (text == "[") i = Closing(tokens, i);
    } else if (text == "(" || text == "{") {
      // An attribute's or a value's; a declarator's comes before the name.
      if (!ended && parameter.name != "__align__" &&
          parameter.name != "__attribute__" && parameter.name != "decltype") {
        return false;
      }
      i = Closing(tokens, i);
    } else if (text == "<") {
      i = ClosingAngle(tokens, i);
    } else if (!ended && token.kind == Kind::kIdentifier) {
      ++words;
      parameter.name = text;
    } else if (!ended) {
      parameter.pack |= text == ".";
      parameter.name.clear();
      if (text == "*" || text == ".") words = std::max(words, 1);
    }
    if (i >= close && text != ")" && i != close) return false;
  }
  return true;
}

bool HasATypesName(const std::vector<Parameter>& parameters) {
  return std::any_of(parameters.begin(), parameters.end(),
                     [](const Parameter& parameter) {
                       return std::find(kTypeWords.begin(), kTypeWords.end(),
                                        parameter.name) != kTypeWords.end();
                     });
}

/// "k<T, N>" in a template's own body.
std::string OwnName(const std::string& name,
                    const std::vector<Parameter>& parameters) {
  std::string text;
  for (const Parameter& parameter : parameters) {
    text += (text.empty() ? "" : ", ") + parameter.name +
            (parameter.pack ? "..." : "");
  }
  return text.empty() ? name : name + "<" + text + ">";
}

}  // namespace

Stub MakeStub(const Tokens& tokens, const Item& kernel) {
  std::vector<Parameter> types, values;
  if (kernel.after_template != kernel.begin) {
    const size_t open = Next(tokens, kernel.begin + 1);
    const size_t close = ClosingAngle(tokens, open);
    const bool one = Next(tokens, close + 1) == kernel.after_template;
    if (close == kNone || !one || !Parameters(tokens, open, close, &types)) {
      return {"a kernel's template parameter without a name", ""};
    }
  }
  const size_t close = Closing(tokens, kernel.parameters);
  const bool none =
      Is(tokens, Next(tokens, kernel.parameters + 1), "void") &&
      Next(tokens, Next(tokens, kernel.parameters + 1) + 1) == close;
  if (close == kNone ||
      (!none && !Parameters(tokens, kernel.parameters, close, &values)) ||
      HasATypesName(values) || HasATypesName(types)) {
    return {"a kernel's parameter without a name", ""};
  }
  const std::string& name = kernel.names[0];
  std::string arguments;
  for (const Parameter& value : values) {
    if (value.name == name) return {"a parameter with its kernel's name", ""};
    arguments += "(void*)&" + value.name + (value.pack ? "..., " : ", ");
  }
  const std::string own = OwnName(name, types);
  return {"", "{ JAXKERN_SPLIT_KERNEL(" + own +
                  ") void* jaxkern_split_arguments[] = {" + arguments +
                  "nullptr}; ::jaxkern_split::Launch((const void*)"
                  "jaxkern_split_self, jaxkern_split_arguments); }"};
}

std::string RewriteLaunches(Tokens* tokens) {
  for (size_t i = 0; i < tokens->size(); ++i) {
    if ((*tokens)[i].text != "<<<") continue;
    const Launch launch = FindLaunch(*tokens, i);
    if (launch.callee == kNone) return "a launch that is not clear";
    const std::string text =
        "(::jaxkern_split::Configure(" + Text(*tokens, i + 1, launch.close) +
        ") ? (void)0 : (void)" + Text(*tokens, launch.callee, i) +
        Lines(Text(*tokens, launch.close, launch.open), (*tokens)[i].directive);
    for (size_t j = launch.callee; j < launch.open; ++j) {
      (*tokens)[j].text.clear();
    }
    (*tokens)[launch.callee].text = text;
    (*tokens)[launch.end].text += ")";
    i = launch.open;
  }
  return "";
}

void BlankMembers(const std::multimap<std::string, Macro>& macros,
                  const Item& type, const Tokens& tokens, Tokens* written) {
  size_t open = type.after_template;
  while (open < type.end && !Is(tokens, open, "{")) ++open;
  if (open >= type.end || type.Has("enum")) return;
  const size_t close = Closing(tokens, open);
  if (close == kNone) return;
  std::set<std::string> words;  // of the member at hand
  size_t parameters = kNone, initialisers = kNone;
  for (size_t i = open + 1; i < close; ++i) {
    const Token& token = tokens[i];
    if (token.directive || token.kind == Kind::kSpace) continue;
    const bool body = token.text == "{" && parameters != kNone;
    if (token.kind == Kind::kIdentifier) {
      words.merge(Mentions(tokens, i, i + 1, macros));
    } else if (token.text == ":" && parameters != kNone &&
               initialisers == kNone) {
      initialisers = i;
    } else if (token.text == "(") {
      i = parameters = Closing(tokens, i);
    } else if (token.text == "{") {
      const size_t end = Closing(tokens, i);
      const bool blank = body && initialisers == kNone &&
                         words.count("__device__") != 0 &&
                         words.count("__host__") == 0;
      for (size_t j = i; blank && j <= end; ++j) {
        (*written)[j].text = Lines(tokens[j].text, false);
      }
      if (blank) (*written)[i].text = ";";
      i = end;
    }
    if (body || token.text == ";") {
      words.clear();
      parameters = initialisers = kNone;
    }
  }
}

}  // namespace jaxkern
