// jaxkern-eval: kernels and a problem bundle in, one JSON object per kernel
// out.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "jaxkern/evaluator.h"

namespace {

constexpr char kHelp[] =
    R"(usage: jaxkern-eval --bundle=DIR [flags] KERNEL.cu... ("-": stdin)

Compiles, runs and checks CUDA C++ kernels against a problem bundle. Prints one
JSON object per kernel, in order. Exit code: 0 if the evaluation ran, whatever
the verdicts; 2 for wrong usage; 1 if something else prevented it.

  --bundle=DIR         what the kernels must compute (docs/bundle.md)
  --device=cpu|cuda    where they run (cpu)
  --repetitions=N      timed launches per timed case (0: check only)
  --compile_timeout=S  seconds for one compilation (60)
  --run_timeout=S      seconds for all cases and repetitions (20)
  --diagnose           look for the fault of a kernel that runs and fails
  --jobs=N             compilers at once (0: one per core)
  --compiler=PATH      nvcc, or the host compiler for the cpu device
  --cache_dir=DIR      compiled kernels ($JAXKERN_CACHE or ~/.cache/jaxkern)
)";

struct Usage : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Flags {
  jaxkern::Options options;
  jaxkern::Request request;  // without a source
  std::vector<std::string> files;
};

double Number(const std::string& flag, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0') {
    throw Usage(flag + ": expected a number, got \"" + text + "\"");
  }
  return value;
}

int Integer(const std::string& flag, const std::string& text) {
  const double value = Number(flag, text);
  if (value != static_cast<int>(value)) {
    throw Usage(flag + ": expected an integer, got \"" + text + "\"");
  }
  return static_cast<int>(value);
}

void SetFlag(const std::string& name, const std::string& value, Flags* flags) {
  if (name == "--bundle") {
    flags->request.problem = value;
  } else if (name == "--device") {
    flags->options.device = value;
  } else if (name == "--repetitions") {
    flags->request.repetitions = Integer(name, value);
  } else if (name == "--compile_timeout") {
    flags->request.compile_timeout_s = Number(name, value);
  } else if (name == "--run_timeout") {
    flags->request.run_timeout_s = Number(name, value);
  } else if (name == "--jobs") {
    flags->options.compile_workers = Integer(name, value);
  } else if (name == "--compiler") {
    flags->options.compiler = value;
  } else if (name == "--cache_dir") {
    flags->options.cache_dir = value;
  } else {
    throw Usage("unknown flag " + name + "; try --help");
  }
}

Flags ParseFlags(int argc, char** argv) {
  Flags flags;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.compare(0, 2, "--") != 0) {
      flags.files.push_back(argument);
      continue;
    }
    if (argument == "--diagnose") {
      flags.request.diagnose = true;
      continue;
    }
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      throw Usage("expected --flag=value, got " + argument + "; try --help");
    }
    SetFlag(argument.substr(0, equals), argument.substr(equals + 1), &flags);
  }
  if (flags.request.problem.empty()) {
    throw Usage("--bundle: expected a directory, got nothing; try --help");
  }
  if (flags.files.empty()) {
    throw Usage("expected at least one kernel file, got none; try --help");
  }
  return flags;
}

std::string ReadSource(const std::string& file) {
  std::ifstream stream(file == "-" ? "/dev/stdin" : file, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  if (!stream.is_open() || stream.bad()) {
    throw Usage(file + ": expected a readable kernel file");
  }
  return text;
}

int Main(const Flags& flags) {
  std::vector<jaxkern::Request> requests;
  for (const std::string& file : flags.files) {
    requests.push_back(flags.request);
    requests.back().source = ReadSource(file);
  }
  jaxkern::Evaluator evaluator(flags.options);
  std::cerr << evaluator.Describe() << std::endl;
  const auto results = evaluator.Evaluate(requests);
  for (size_t i = 0; i < results.size(); ++i) {
    std::cout << "{\"file\":" << nlohmann::json(flags.files[i]).dump() << ","
              << jaxkern::ToJson(results[i]).substr(1) << "\n";
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--help") {
      std::fputs(kHelp, stdout);
      return 0;
    }
  }
  try {
    return Main(ParseFlags(argc, argv));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "jaxkern-eval: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "jaxkern-eval: %s\n", error.what());
    return 1;
  }
}
