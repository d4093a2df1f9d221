#include "backends/cuda/nvcc_steps.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>

#include "backends/cuda/search.h"

namespace jaxkern {
namespace {

using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

/// The length of a variable's name at `at`.
size_t NameLength(const std::string& text, size_t at) {
  size_t end = at;
  while (end < text.size() && (std::isalnum(text[end]) || text[end] == '_')) {
    ++end;
  }
  return end - at;
}

/// A command's words as a shell would pass them; none where that would need
/// more of a shell than is known here.
std::optional<Words> ReadWords(const std::string& line,
                               const Variables& variables) {
  const std::string foreign = "\\`'|&;<>()*?[]{}~#!";
  Words words;
  std::string word;
  bool quoted = false, begun = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (c == '"') {
      quoted = !quoted;
      begun = true;
    } else if (c == '$') {
      const size_t length = NameLength(line, i + 1);
      const auto known = variables.find(line.substr(i + 1, length));
      if (known == variables.end() || !quoted) return std::nullopt;
      word += known->second;
      i += length;
    } else if (c == ' ' && !quoted) {
      if (begun) words.push_back(word);
      word.clear();
      begun = false;
    } else {
      const bool syntax = foreign.find(c) != std::string::npos;
      if (syntax && (!quoted || c == '\\' || c == '`')) return std::nullopt;
      word += c;
      begun = true;
    }
  }
  if (quoted) return std::nullopt;
  if (begun) words.push_back(word);
  return words;
}

/// What follows `option`; "" if it is not there just once.
std::string ValueOf(const Words& argv, const std::string& option) {
  const auto at = std::find(argv.begin(), argv.end(), option);
  if (at == argv.end() || at + 1 == argv.end()) return "";
  return std::count(argv.begin(), argv.end(), option) == 1 ? *(at + 1) : "";
}

bool Has(const Words& argv, const std::string& word) {
  return std::find(argv.begin(), argv.end(), word) != argv.end();
}

bool HasFile(const Words& argv, const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos &&
         Has(argv, name);
}

/// An absolute path, looked for as nvcc does.
std::string Locate(const std::string& program, const std::string& path) {
  if (program[0] == '/') return IsExecutable(program) ? program : "";
  for (const std::string& directory : Split(path, ':')) {
    const std::string candidate = directory + "/" + program;
    if (IsExecutable(candidate)) return candidate;
  }
  return "";
}

/// Whether each step reads what an earlier one writes, and the halves meet only
/// where they are known to.
bool Fits(NvccSteps* steps) {
  using S = NvccSteps;
  const auto& argv = steps->argv;
  const std::string option = "--module_id_file_name";
  const std::string code = ValueOf(argv[S::kHostFront], "--gen_c_file_name");
  const std::string binary =
      ValueOf(argv[S::kDeviceFront], "--include_file_name");
  const std::string cubin = ValueOf(argv[S::kAssemble], "-o");
  steps->identity = ValueOf(argv[S::kHostFront], option);
  steps->stub = ValueOf(argv[S::kDeviceFront], "--stub_file_name");
  steps->ptx = ValueOf(argv[S::kDeviceFront], "-o");
  const bool packed =
      !cubin.empty() &&
      std::any_of(argv[S::kPack].begin(), argv[S::kPack].end(),
                  [&](const std::string& word) {
                    const std::string end = ",file=" + cubin;
                    return word.size() > end.size() &&
                           word.substr(word.size() - end.size()) == end;
                  });
  const std::string source = steps->directory + "/" +
                             argv[S::kHostText][argv[S::kHostText].size() - 3];
  return packed &&
         HasFile(argv[S::kHostFront], ValueOf(argv[S::kHostText], "-o")) &&
         HasFile(argv[S::kDeviceFront], ValueOf(argv[S::kDeviceText], "-o")) &&
         HasFile(argv[S::kAssemble], steps->ptx) &&
         HasFile(argv[S::kHostFront], steps->stub) &&
         HasFile(argv[S::kDeviceFront], steps->identity) &&
         HasFile(argv[S::kHost], code) &&
         HasFile(argv[S::kLink], ValueOf(argv[S::kHost], "-o")) &&
         ValueOf(argv[S::kLink], "-o") == "kernel.so" &&
         ValueOf(argv[S::kDeviceFront], option) == steps->identity &&
         Has(argv[S::kHostFront], "--gen_module_id_file") &&
         !Has(argv[S::kDeviceFront], "--gen_module_id_file") &&
         Has(argv[S::kPack], "--embedded-fatbin=" + binary) &&
         Has(argv[S::kHostText], "-E") && Has(argv[S::kDeviceText], "-E") &&
         Has(argv[S::kHost], "-c") && Has(argv[S::kLink], "-shared") &&
         Has(argv[S::kHostFront], source) && Has(argv[S::kDeviceFront], source);
}

}  // namespace

std::vector<std::string> NvccSteps::In(const std::string& other,
                                       Step step) const {
  std::vector<std::string> words = argv[step];
  for (std::string& word : words) {
    if (word.rfind(directory + "/", 0) == 0) {
      word = other + word.substr(directory.size());
    }
  }
  return words;
}

std::optional<NvccSteps> ReadDryRun(const std::string& printed,
                                    const std::string& directory) {
  const char* const programs[NvccSteps::kCount] = {
      "gcc", "cudafe++", "gcc", "cicc", "ptxas", "fatbinary", "gcc", "g++"};
  NvccSteps steps;
  steps.directory = directory;
  Variables variables;
  int step = 0;
  std::istringstream lines(printed);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("#$ ", 0) != 0) return std::nullopt;
    line.erase(0, 3);
    const size_t name = NameLength(line, 0);
    if (name > 0 && name < line.size() && line[name] == '=') {
      variables[line.substr(0, name)] = line.substr(name + 1);
      continue;
    }
    auto words = ReadWords(line, variables);
    if (!words || words->size() < 4 || step == NvccSteps::kCount) {
      return std::nullopt;
    }
    std::string& program = words->front();
    if (program.substr(program.rfind('/') + 1) != programs[step]) {
      return std::nullopt;
    }
    program = Locate(program, variables["PATH"]);
    if (program.empty()) return std::nullopt;
    steps.argv[step++] = std::move(*words);
  }
  if (step != NvccSteps::kCount || !Fits(&steps)) return std::nullopt;
  // Where cicc finds its library of device functions.
  const std::string library = variables["NVVMIR_LIBRARY_DIR"];
  const std::string env = OnPath("env");
  if (library.empty() || env.empty()) return std::nullopt;
  auto& front = steps.argv[NvccSteps::kDeviceFront];
  front.insert(front.begin(), {env, "NVVMIR_LIBRARY_DIR=" + library});
  return steps;
}

}  // namespace jaxkern
