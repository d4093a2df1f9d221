/// `jaxkern-eval --replay`: verdicts once more.
#ifndef JAXKERN_CLI_REPLAY_H_
#define JAXKERN_CLI_REPLAY_H_

#include <string>
#include <vector>

#include "jaxkern/evaluator.h"

namespace jaxkern {

/// The results in a file: one JSON object, or one a line. Throws
/// std::invalid_argument naming the file, the line, expected and got.
std::vector<Result> ReadResults(const std::string& file);

/// What two results of one request should share but do not, e.g. "status".
std::vector<std::string> Differences(const Result& then, const Result& now);

/// Evaluates what `file` holds again, on the devices it names and else with
/// `options`. Prints one JSON object per result; 0 if all agree, else 3.
/// Throws std::invalid_argument if a bundle is not what it was.
int ReplayFile(const std::string& file, const Options& options);

}  // namespace jaxkern

#endif  // JAXKERN_CLI_REPLAY_H_
