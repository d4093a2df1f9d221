#include "backends/cuda/split.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <vector>

#include "backends/cuda/split_headers.h"
#include "backends/cuda/split_items.h"
#include "backends/cuda/split_stub.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

/// What tells the compilers apart, or what they do not share.
constexpr std::array<const char*, 16> kTelling = {
    "__CUDACC__",    "__NVCC__",    "__CUDACC_RTC__", "__NVCOMPILER",
    "__GNUC__",      "__clang__",   "__COUNTER__",    "__has_include",
    "__has_builtin", "__managed__", "__FAST_MATH__",  "__TIME__",
    "__DATE__",      "__VA_OPT__",  "__EXCEPTIONS",   "__OPTIMIZE__"};

// Macros that headers define in one half and perhaps not in the other.
constexpr std::array<const char*, 9> kOfHeaders = {
    "M_", "FLT_", "DBL_", "CUDA", "INF", "NAN", "INT", "UINT", "HUGE"};

constexpr size_t kMostSteps = 100'000'000;

bool StartsWith(const std::string& text, const std::string& start) {
  return text.rfind(start, 0) == 0;
}

class Divider {
 public:
  Divider(const std::string& source, const std::set<std::string>& wanted)
      : tokens_(Lex(source)), found_(FindItems(tokens_)), wanted_(wanted) {
    division_.obstacle = found_.obstacle;
  }

  Division Divide() {
    CheckSteps();
    CheckWords();
    CheckDirectives();
    if (!division_.obstacle.empty()) return division_;
    on_device_.resize(found_.items.size());
    on_host_.resize(found_.items.size());
    NameItems();
    ChooseForDevice();
    ChooseForHost();
    CheckLaunches();
    if (division_.obstacle.empty()) Write();
    return division_;
  }

 private:
  void Obstacle(const std::string& what) {
    if (division_.obstacle.empty()) division_.obstacle = what;
  }

  bool IsHosts(const Item& item) const {
    const bool function = item.kind == Item::Kind::kFunction;
    const bool variable = item.kind == Item::Kind::kVariable;
    return !item.IsDevice() && ((function && !item.Has("constexpr")) ||
                                (variable && !item.IsConstant()));
  }

  static bool IsBoths(const Item& item) {
    return item.Has("__host__") && item.Has("__device__");
  }

  /// What the device's half has whether or not something there mentions it.
  /// Kernels' template arguments, only the host may mention.
  bool IsRoot(const Item& item) const {
    const bool wanted =
        std::any_of(item.names.begin(), item.names.end(),
                    [&](const auto& name) { return wanted_.count(name) != 0; });
    if (wanted && !IsHosts(item)) return true;
    if (item.kind != Item::Kind::kType) return item.IsDevice();
    if (item.Has("enum")) return true;
    return Mentions(tokens_, item.begin, item.end, found_.macros)
               .count("__device__") != 0;
  }

  static bool IsFrame(const Item& item) {
    return item.kind == Item::Kind::kDirective ||
           item.kind == Item::Kind::kScope || item.kind == Item::Kind::kAlways;
  }

  /// The part of an item that the host's half has.
  size_t HostEnd(const Item& item) const {
    return item.IsKernel() && item.body != kNone ? item.body : item.end;
  }

  void CheckSteps();
  void CheckWords();
  void CheckDirectives();
  void CheckInclude(const Item& item, size_t at);
  void CheckCondition(size_t at, size_t end, const std::string& word);
  void NameItems();
  void ChooseForDevice();
  void ChooseForHost();
  void CheckLaunches();
  void Write();
  void WriteHost(const Item& item);
  void WriteDevice(const Item& item);
  std::string FrameText(const Item& item, bool host) const;

  const Tokens tokens_;
  const Items found_;
  const std::set<std::string>& wanted_;
  Tokens host_tokens_;
  std::multimap<std::string, size_t> by_name_;
  std::vector<bool> on_device_, on_host_;
  int variables_ = 0;
  Division division_;
};

/// Launches and macros may each cost a walk over all of their kind.
void Divider::CheckSteps() {
  const auto launches = static_cast<size_t>(
      std::count_if(tokens_.begin(), tokens_.end(),
                    [](const Token& token) { return token.text == "<<<"; }));
  if (launches * tokens_.size() > kMostSteps ||
      found_.items.size() * found_.macros.size() > kMostSteps / 64) {
    Obstacle("so many launches or macros in one text");
  }
}

void Divider::CheckWords() {
  for (const Token& token : tokens_) {
    if (token.kind != Kind::kIdentifier) continue;
    const std::string word = Spelling(token);
    const bool telling =
        std::find(kTelling.begin(), kTelling.end(), word) != kTelling.end();
    if (telling || StartsWith(word, "__CUDACC_VER") ||
        StartsWith(word, "jaxkern_split")) {
      Obstacle("it uses " + word);
    }
  }
}

void Divider::CheckInclude(const Item& item, size_t at) {
  const size_t name = Next(tokens_, at + 1);
  if (name >= item.end || tokens_[name].kind != Kind::kText) {
    return Obstacle("an #include with a computed name");
  }
  const std::string text = Spelling(tokens_[name]);
  const std::string header = text.substr(1, text.size() - 2);
  if (!UseOfHeader(header).known) Obstacle("#include <" + header + ">");
}

void Divider::CheckCondition(size_t at, size_t end, const std::string& word) {
  for (size_t i = at; i < end; ++i) {
    if (tokens_[i].kind != Kind::kIdentifier) continue;
    const std::string name = Spelling(tokens_[i]);
    if (name == word || name == "defined" || name == "__CUDA_ARCH__" ||
        name == "JAXKERN_CHECK" || name == "__cplusplus") {
      continue;
    }
    const bool headers =
        std::any_of(kOfHeaders.begin(), kOfHeaders.end(),
                    [&](const char* start) { return StartsWith(name, start); });
    if (found_.macros.count(name) == 0 || headers) {
      Obstacle("a condition on " + name);
    }
  }
}

void Divider::CheckDirectives() {
  size_t item = 0;
  for (size_t i = 0; i < tokens_.size(); ++i) {
    const bool starts = tokens_[i].directive &&
                        (tokens_[i].text == "#" || tokens_[i].text == "%:") &&
                        (i == 0 || !tokens_[i - 1].directive ||
                         tokens_[i - 1].kind == Kind::kNewline);
    if (!starts) continue;
    size_t end = i;
    while (end < tokens_.size() && tokens_[end].directive &&
           tokens_[end].kind != Kind::kNewline) {
      ++end;
    }
    while (item + 1 < found_.items.size() && found_.items[item].end <= i) {
      ++item;
    }
    const size_t at = Next(tokens_, i + 1);
    const std::string word = at < end ? Spelling(tokens_[at]) : "";
    if (word == "include") {
      if (item >= found_.items.size() || found_.items[item].begin != i) {
        Obstacle("an #include inside a declaration");
      } else {
        CheckInclude(found_.items[item], at);
      }
    } else if (word == "if" || word == "ifdef" || word == "ifndef" ||
               word == "elif") {
      CheckCondition(at, end, word);
    } else if (word != "define" && word != "undef" && word != "pragma" &&
               word != "else" && word != "endif" && word != "line" &&
               word != "error" && !word.empty()) {
      Obstacle("#" + word);
    }
  }
}

void Divider::NameItems() {
  bool kernel = false;
  for (size_t i = 0; i < found_.items.size(); ++i) {
    const Item& item = found_.items[i];
    kernel |= item.IsKernel();
    for (const std::string& name : item.names) by_name_.emplace(name, i);
    if (!IsHosts(item)) continue;
    const auto mentioned =
        Mentions(tokens_, item.begin, item.end, found_.macros);
    if (mentioned.count("__device__") + mentioned.count("__global__") != 0) {
      Obstacle("device code inside a function of the host");
    }
  }
  if (!kernel) Obstacle("it has no kernel");
}

void Divider::ChooseForDevice() {
  std::vector<size_t> fresh;
  for (size_t i = 0; i < found_.items.size(); ++i) {
    if (IsFrame(found_.items[i]) || !IsRoot(found_.items[i])) continue;
    on_device_[i] = true;
    fresh.push_back(i);
  }
  while (!fresh.empty()) {
    const Item& item = found_.items[fresh.back()];
    fresh.pop_back();
    for (const std::string& name :
         Mentions(tokens_, item.begin, item.end, found_.macros)) {
      const auto range = by_name_.equal_range(name);
      for (auto it = range.first; it != range.second; ++it) {
        if (IsHosts(found_.items[it->second])) {
          return Obstacle("device code mentions the host's " + name);
        }
        if (on_device_[it->second]) continue;
        on_device_[it->second] = true;
        fresh.push_back(it->second);
      }
    }
  }
}

void Divider::ChooseForHost() {
  std::vector<size_t> fresh;
  for (size_t i = 0; i < found_.items.size(); ++i) {
    const Item& item = found_.items[i];
    const bool both = IsBoths(item) && item.operation;
    if (IsFrame(item) || (on_device_[i] && !both)) continue;
    on_host_[i] = true;
    fresh.push_back(i);
  }
  while (!fresh.empty()) {
    const Item& item = found_.items[fresh.back()];
    fresh.pop_back();
    for (const std::string& name :
         Mentions(tokens_, item.begin, HostEnd(item), found_.macros)) {
      const auto range = by_name_.equal_range(name);
      for (auto it = range.first; it != range.second; ++it) {
        const Item& other = found_.items[it->second];
        if (other.kind == Item::Kind::kFunction && other.IsDevice() &&
            !other.IsKernel() && !IsBoths(other)) {
          return Obstacle("host code mentions the device's " + name);
        }
        if (on_host_[it->second]) continue;
        on_host_[it->second] = true;
        fresh.push_back(it->second);
      }
    }
  }
}

void Divider::CheckLaunches() {
  for (size_t i = 0; i < found_.items.size(); ++i) {
    const Item& item = found_.items[i];
    if (!on_device_[i]) continue;
    for (size_t j = item.begin; j < item.end; ++j) {
      if (tokens_[j].text == "<<<") Obstacle("a launch in device code");
    }
  }
}

std::string Blank(const std::string& text) { return Lines(text, false); }

std::string Divider::FrameText(const Item& item, bool host) const {
  const Tokens& tokens = host ? host_tokens_ : tokens_;
  const std::string text = Text(tokens, item.begin, item.end);
  const size_t first = Next(tokens_, item.begin + 1);
  if (item.kind == Item::Kind::kDirective && first < item.end &&
      Spelling(tokens_[first]) == "include") {
    const std::string name = Spelling(tokens_[Next(tokens_, first + 1)]);
    const HeaderUse use = UseOfHeader(name.substr(1, name.size() - 2));
    return (host ? use.host : use.device) ? text : Blank(text);
  }
  // One translation unit needs no names of its own; these have the same
  // symbols in both halves.
  const bool unnamed = item.kind == Item::Kind::kScope &&
                       item.words.size() == 2 && item.Has("namespace");
  return unnamed ? "inline namespace jaxkern_unnamed {" + Blank(text) : text;
}

void Divider::WriteDevice(const Item& item) {
  size_t head = item.after_template;
  division_.device += Text(tokens_, item.begin, head);
  if (item.kind == Item::Kind::kFunction && !item.IsDevice()) {
    // nvcc does so by --expt-relaxed-constexpr.
    division_.device += "__host__ __device__ ";
  }
  const bool renames = item.IsKernel() || item.kind == Item::Kind::kVariable;
  const size_t end = item.parameters == kNone ? item.end : item.parameters;
  for (; renames && item.IsDevice() && head < end; ++head) {
    if (tokens_[head].text == "=" || tokens_[head].text == "{") break;
    if (tokens_[head].text != "static") division_.device += tokens_[head].text;
  }
  division_.device += Text(tokens_, head, item.end);
}

void Divider::WriteHost(const Item& item) {
  Tokens* const tokens = &host_tokens_;
  const bool variable = item.kind == Item::Kind::kVariable && item.IsDevice();
  if (item.kind == Item::Kind::kType) {
    BlankMembers(found_.macros, item, tokens_, tokens);
  }
  if (item.IsKernel() || variable) {
    for (size_t i = item.begin; i < item.end && i < item.parameters; ++i) {
      if ((*tokens)[i].text == "=" || (*tokens)[i].text == "{") break;
      if ((*tokens)[i].text == "static") (*tokens)[i].text.clear();
    }
  }
  if (item.IsKernel() && item.body != kNone) {
    const Stub stub = MakeStub(tokens_, item);
    Obstacle(stub.obstacle);
    division_.templates |= item.after_template != item.begin;
    division_.host += Text(*tokens, item.begin, item.body) + stub.body +
                      Blank(Text(tokens_, item.body, item.end));
    return;
  }
  if (!variable) {
    division_.host += Text(*tokens, item.begin, item.end);
    return;
  }
  if (item.Has("extern") || item.after_template != item.begin) {
    return Obstacle("a variable of the device that is defined elsewhere");
  }
  division_.host += "__attribute__((visibility(\"hidden\"))) " +
                    Text(*tokens, item.begin, item.end);
  for (const std::string& name : item.names) {
    division_.host += " JAXKERN_SPLIT_VARIABLE(" + name + ", " +
                      std::to_string(variables_++) + ", " +
                      (item.Has("__constant__") ? "1" : "0") + ")";
  }
}

void Divider::Write() {
  host_tokens_ = tokens_;
  Obstacle(RewriteLaunches(&host_tokens_));
  size_t at = 0;
  for (size_t i = 0; i < found_.items.size(); ++i) {
    const Item& item = found_.items[i];
    const std::string between = Text(tokens_, at, item.begin);
    const std::string blank = Blank(Text(tokens_, item.begin, item.end));
    division_.device += between;
    division_.host += between;
    at = item.end;
    const size_t first = Next(tokens_, item.begin + 1);
    if (item.kind == Item::Kind::kDirective && first < item.end &&
        Spelling(tokens_[first]) == "include") {
      division_.includes += Text(tokens_, item.begin, item.end) + "\n";
    }
    if (IsFrame(item)) {
      division_.device += FrameText(item, false);
      division_.host += FrameText(item, true);
      continue;
    }
    on_device_[i] ? WriteDevice(item) : void(division_.device += blank);
    if (!on_device_[i] && !IsHosts(item)) {
      division_.left_out.insert(item.names.begin(), item.names.end());
    }
    on_host_[i] ? WriteHost(item) : void(division_.host += blank);
  }
  division_.device += Text(tokens_, at, tokens_.size());
  division_.host += Text(tokens_, at, tokens_.size());
}

}  // namespace

Division Divide(const std::string& source,
                const std::set<std::string>& wanted) {
  return Divider(source, wanted).Divide();
}

}  // namespace jaxkern
