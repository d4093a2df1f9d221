/// What became of a source.
#ifndef JAXKERN_CORE_BUILD_H_
#define JAXKERN_CORE_BUILD_H_

#include <string>

#include "core/fd.h"
#include "jaxkern/evaluator.h"

namespace jaxkern {

/// Only kOk has a library.
struct Build {
  Status status = Status::kInfraError;
  std::string stage = "compile";
  std::string log;
  Resources resources;
  std::string road, road_reason;  ///< as in Result
  Fd library;                     ///< sealed memory holding the shared object
  double compile_s = 0;
  bool cache_hit = false;
  std::string cache_miss;  ///< why there was none, if that was asked for
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_BUILD_H_
