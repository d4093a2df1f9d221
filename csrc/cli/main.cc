// jaxkern-eval: the evaluator for shells and for programs in any language.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/flags.h"
#include "cli/replay.h"
#include "cli/request_line.h"
#include "cli/server.h"
#include "cli/session.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {
namespace {

int EvaluateFiles(const Flags& flags) {
  std::vector<Request> requests;
  for (const std::string& file : flags.files) {
    requests.push_back(flags.request);
    requests.back().source = ReadSource(file);
  }
  Evaluator evaluator(flags.options);
  std::cerr << evaluator.Describe() << std::endl;
  const auto results = evaluator.Evaluate(requests);
  if (flags.options.explain_misses) {
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].cache_miss.empty()) continue;
      std::cerr << flags.files[i]
                << ": not in the cache: " << results[i].cache_miss << std::endl;
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    std::cout << "{\"file\":" << nlohmann::json(flags.files[i]).dump() << ","
              << ToJson(results[i]).substr(1) << "\n";
  }
  std::cout.flush();
  return std::cout ? 0 : 1;
}

int Serve(const Flags& flags) {
  const Fd stop = CatchStop();
  Options options = flags.options;
  options.max_queued = 0;  // clients are bounded each for itself
  if (flags.socket.empty()) {
    Evaluator evaluator(options);
    std::cerr << evaluator.Describe() << std::endl;
    Session session(&evaluator, flags.request, STDIN_FILENO, STDOUT_FILENO);
    return session.Run(stop.get()) == Session::Ended::kAnswered ? 0 : 1;
  }
  const Listener listener(flags.socket);
  Evaluator evaluator(options);
  std::cerr << evaluator.Describe() << "\nserving on " << flags.socket
            << std::endl;
  std::atomic<bool> all_answered{true};
  ServeSocket(listener, stop.get(), [&](int client) {
    Session session(&evaluator, flags.request, client, client);
    // A client that leaves early does so on its own account.
    if (session.Run(stop.get()) == Session::Ended::kStopped) {
      all_answered = false;
    }
  });
  return all_answered ? 0 : 1;
}

int Main(const std::vector<std::string>& arguments) {
  const Flags flags = ParseFlags(arguments);
  if (flags.help) {
    std::fputs(kHelp, stdout);
    return 0;
  }
  if (flags.serve) return Serve(flags);
  if (!flags.replay.empty()) return ReplayFile(flags.replay, flags.options);
  return EvaluateFiles(flags);
}

}  // namespace
}  // namespace jaxkern

int main(int argc, char** argv) {
  try {
    return jaxkern::Main({argv + 1, argv + argc});
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "jaxkern-eval: %s\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "jaxkern-eval: %s\n", error.what());
    return 1;
  }
}
