/// The flags of jaxkern-eval.
#ifndef JAXKERN_CLI_FLAGS_H_
#define JAXKERN_CLI_FLAGS_H_

#include <stdexcept>
#include <string>
#include <vector>

#include "jaxkern/evaluator.h"

namespace jaxkern {

struct Usage : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Flags {
  bool help = false;
  bool serve = false;
  std::string socket;  ///< --serve=PATH; "": stdin and stdout
  std::string replay;  ///< --replay=FILE; "": none
  Options options;
  Request request;  ///< without a source
  std::vector<std::string> files;
};

/// What --help prints.
extern const char kHelp[];

/// Throws Usage naming the flag, expected and got.
Flags ParseFlags(const std::vector<std::string>& arguments);

}  // namespace jaxkern

#endif  // JAXKERN_CLI_FLAGS_H_
