#include "cli/replay.h"

#include <cstdio>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "cli/request_line.h"
#include "core/problem.h"

namespace jaxkern {
namespace {

Result ReadResult(const std::string& place, const std::string& text) {
  try {
    return FromJson(text);
  } catch (const std::invalid_argument& error) {
    throw std::invalid_argument(place + ": " + error.what());
  }
}

void RequireSameBundle(const Replay& replay) {
  const std::string& directory = replay.request.problem;
  const std::string now = ProblemHash(directory);
  if (now == replay.problem_hash) return;
  throw std::invalid_argument(directory + ": expected a bundle with hash " +
                              replay.problem_hash + ", got " + now);
}

/// "wrong_answer in check", "ok, 1.93 times as fast as the baseline".
std::string Verdict(const Result& result) {
  std::string text = StatusName(result.status);
  if (result.status != Status::kOk) text += " in " + result.stage;
  if (!result.rule.empty()) text += " (" + result.rule + ")";
  if (result.speedup <= 0) return text;
  char speedup[80];
  std::snprintf(speedup, sizeof speedup, ", %.3g times as fast as the baseline",
                result.speedup);
  return text + speedup;
}

void Print(const Result& then, const Result& now,
           const std::vector<std::string>& differences) {
  std::cout << "{\"agree\":" << (differences.empty() ? "true" : "false")
            << ",\"differs\":" << nlohmann::json(differences).dump()
            << ",\"then\":" << ToJson(then) << ",\"now\":" << ToJson(now) << "}"
            << std::endl;
  std::cerr << "then: " << Verdict(then) << "\nnow:  " << Verdict(now) << "\n"
            << (differences.empty() ? "agree" : "DISAGREE") << std::endl;
}

}  // namespace

std::vector<Result> ReadResults(const std::string& file) {
  const std::string text = ReadSource(file);
  if (nlohmann::json::accept(text)) return {ReadResult(file, text)};
  std::vector<Result> results;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    results.push_back(ReadResult(file + ":" + std::to_string(number), line));
  }
  if (results.empty()) {
    throw std::invalid_argument(file + ": expected a result, got none");
  }
  return results;
}

std::vector<std::string> Differences(const Result& then, const Result& now) {
  std::vector<std::string> differences;
  if (then.status != now.status) differences.push_back("status");
  if (then.stage != now.stage) differences.push_back("stage");
  if (then.rule != now.rule) differences.push_back("rule");
  return differences;
}

int ReplayFile(const std::string& file, const Options& options) {
  const std::vector<Result> results = ReadResults(file);
  for (const Result& then : results) RequireSameBundle(then.replay);
  std::map<std::string, std::unique_ptr<Evaluator>> evaluators;  // by device
  bool agree = true;
  for (const Result& then : results) {
    std::unique_ptr<Evaluator>& evaluator = evaluators[then.replay.device];
    if (!evaluator) {
      Options chosen = options;
      chosen.device = then.replay.device;
      evaluator = std::make_unique<Evaluator>(chosen);
    }
    const std::string environment = evaluator->Describe();
    if (environment != then.replay.environment) {
      std::cerr << "the environment differs:\n  then: "
                << then.replay.environment << "\n  now:  " << environment
                << std::endl;
    }
    const Result now = evaluator->Evaluate({then.replay.request})[0];
    const std::vector<std::string> differences = Differences(then, now);
    agree = agree && differences.empty();
    Print(then, now, differences);
  }
  return agree ? 0 : 3;
}

}  // namespace jaxkern
