#include "cli/flags.h"

#include <cmath>
#include <cstdlib>
#include <functional>
#include <map>

namespace jaxkern {

const char kHelp[] =
    R"(Judges CUDA C++ kernels: compiles, runs, checks and times them.

usage:
  jaxkern-eval --bundle=DIR [flags] KERNEL.cu...     ("-": a kernel on stdin)
  jaxkern-eval --serve [--bundle=DIR] [flags]        requests on stdin
  jaxkern-eval --serve=PATH.sock [flags]             requests on a Unix socket
  jaxkern-eval --replay=RESULT.json [flags]          a verdict once more

The first form prints one JSON object per kernel, in their order. --serve reads
requests and prints results, one JSON object per line, until the input ends or
SIGTERM:
  {"id": 1, "bundle": "DIR", "file": "KERNEL.cu", "repetitions": 20}
  {"id": 1, "status": "ok", ...}
--replay evaluates what a file of such results holds again, with the same
source, inputs and options, and prints both verdicts and whether they agree.
What each field means is in docs/evaluator.md.

what to judge:
  --bundle=DIR           what the kernels must compute, a problem bundle
                         (docs/bundle.md); with --serve, where a request names
                         none
  --device=cpu|cuda      where they run (default cpu)
  --repetitions=N        timed launches per timed case, 0 to 1000; 0 checks
                         only (default 0)
  --flush=true|false     whether each timed launch finds the cache emptied
                         (default true)
  --diagnose=true|false  look for the fault of a kernel that runs and fails
                         (default false)
  --rules=true|false     judge by the rules about cheating, too (default true)
  --compile_timeout=S    seconds for one compilation (default 60)
  --run_timeout=S        seconds for all cases and repetitions of one kernel
                         (default 20)

how to work:
  --fresh_process=true|false
                         a process per kernel, on cuda too (default false)
  --memory_bytes=N       of a worker: its address space on cpu, on cuda GPU
                         memory that must be free (default 0: on cpu 4 GiB and
                         256 MiB per core)
  --jobs=N               compilers at once (default 0: one per core)
  --run_workers=N        kernels run at once; above 1, times disturb each
                         other (default 1)
  --compiler=PATH        nvcc, or for the cpu device the host's C++ compiler
                         (default: searched in CUDA_HOME or CXX, PATH, wheels)
  --cache_dir=DIR        where compiled kernels are kept (default
                         $JAXKERN_CACHE, $XDG_CACHE_HOME/jaxkern or
                         ~/.cache/jaxkern)
  --cache_gb=N           size above which the oldest of them go (default 4)
  --explain-miss         say of each kernel that was not among them why: the
                         compiler, flags, architecture or headers differ from
                         those of a stored one, its source does at a line, it
                         was evicted, or never seen ("cache_miss" in results)
  --help                 this text

exit code:
  0  the evaluation ran, whatever the verdicts; with --serve, every request
     was answered; with --replay, the verdicts agree
  1  something else prevented it; with --serve, it was stopped before
  2  wrong usage, with one line on stderr
  3  with --replay, a verdict differs
)";

namespace {

double Number(const std::string& flag, const std::string& text) {
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(value)) {
    throw Usage(flag + ": expected a number, got \"" + text + "\"");
  }
  return value;
}

int Integer(const std::string& flag, const std::string& text) {
  const double value = Number(flag, text);
  if (std::abs(value) > 1e9 || value != std::floor(value)) {
    throw Usage(flag + ": expected an integer, got \"" + text + "\"");
  }
  return static_cast<int>(value);
}

bool Bool(const std::string& flag, const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw Usage(flag + ": expected true or false, got \"" + text + "\"");
}

int64_t Bytes(const std::string& flag, const std::string& text) {
  const double value = Number(flag, text);
  if (value < 0 || value > 1e18 || value != std::floor(value)) {
    throw Usage(flag + ": expected whole bytes, got \"" + text + "\"");
  }
  return static_cast<int64_t>(value);
}

int64_t Gigabytes(const std::string& flag, const std::string& text) {
  const double value = Number(flag, text);
  if (value <= 0 || value > 1e6) {
    throw Usage(flag + ": expected more than 0 and at most 1e6, got " + text);
  }
  return static_cast<int64_t>(value * (int64_t{1} << 30));
}

using Setter =
    std::function<void(const std::string& name, const std::string& value)>;

std::map<std::string, Setter> Setters(Flags* flags) {
  const auto text = [](std::string* place) {
    return [place](const std::string&, const std::string& v) { *place = v; };
  };
  const auto integer = [](int* place) {
    return [place](const std::string& name, const std::string& v) {
      *place = Integer(name, v);
    };
  };
  const auto boolean = [](bool* place) {
    return [place](const std::string& name, const std::string& v) {
      *place = Bool(name, v);
    };
  };
  const auto number = [](double* place) {
    return [place](const std::string& name, const std::string& v) {
      *place = Number(name, v);
    };
  };
  Options* options = &flags->options;
  Request* request = &flags->request;
  return {
      {"--bundle", text(&request->problem)},
      {"--device", text(&options->device)},
      {"--repetitions", integer(&request->repetitions)},
      {"--flush", boolean(&request->flush)},
      {"--fresh_process", boolean(&request->fresh_process)},
      {"--diagnose", boolean(&request->diagnose)},
      {"--rules", boolean(&request->rules)},
      {"--replay",
       [flags](const std::string& name, const std::string& v) {
         if (v.empty()) throw Usage(name + ": expected a file, got nothing");
         flags->replay = v;
       }},
      {"--compile_timeout", number(&request->compile_timeout_s)},
      {"--run_timeout", number(&request->run_timeout_s)},
      {"--jobs", integer(&options->compile_workers)},
      {"--run_workers", integer(&options->run_workers)},
      {"--compiler", text(&options->compiler)},
      {"--cache_dir", text(&options->cache_dir)},
      {"--cache_gb",
       [options](const std::string& name, const std::string& v) {
         options->cache_bytes = Gigabytes(name, v);
       }},
      {"--memory_bytes",
       [options](const std::string& name, const std::string& v) {
         options->memory_bytes = Bytes(name, v);
       }},
      {"--serve",
       [flags](const std::string& name, const std::string& v) {
         if (v.empty()) throw Usage(name + ": expected a path, got nothing");
         flags->serve = true;
         flags->socket = v;
       }},
  };
}

void Require(const Flags& flags) {
  const bool replays = !flags.replay.empty();
  if (flags.serve && replays) {
    throw Usage("expected --serve or --replay, got both");
  }
  if ((flags.serve || replays) && !flags.files.empty()) {
    throw Usage(std::string(replays ? "--replay" : "--serve") +
                ": expected no kernel files, got " + flags.files[0]);
  }
  if (flags.serve || replays) return;
  if (flags.request.problem.empty()) {
    throw Usage("--bundle: expected a directory, got nothing; try --help");
  }
  if (flags.files.empty()) {
    throw Usage("expected at least one kernel file, got none; try --help");
  }
}

}  // namespace

Flags ParseFlags(const std::vector<std::string>& arguments) {
  Flags flags;
  const std::map<std::string, Setter> setters = Setters(&flags);
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    if (argument == "--help") {
      flags.help = true;
      return flags;
    }
    if (argument == "--serve") {
      flags.serve = true;
    } else if (argument == "--explain-miss") {
      flags.options.explain_misses = true;
    } else if (argument.compare(0, 2, "--") != 0) {
      flags.files.push_back(argument);
    } else if (const auto set = setters.find(name); set == setters.end()) {
      throw Usage("unknown flag " + name + "; try --help");
    } else if (equals == std::string::npos) {
      throw Usage("expected --flag=value, got " + argument + "; try --help");
    } else {
      set->second(name, argument.substr(equals + 1));
    }
  }
  Require(flags);
  return flags;
}

}  // namespace jaxkern
