/// One line of `jaxkern-eval --serve`: a request as a JSON object.
#ifndef JAXKERN_CLI_REQUEST_LINE_H_
#define JAXKERN_CLI_REQUEST_LINE_H_

#include <string>

#include "jaxkern/evaluator.h"

namespace jaxkern {

struct RequestLine {
  std::string id = "null";  ///< JSON, to be echoed
  Request request;
  std::string error;  ///< what is wrong with the line; "": nothing
};

/// What is not in the line is as in `defaults`. "file" is read; it must not
/// be larger than `max_file` bytes.
RequestLine ParseRequestLine(const std::string& line, const Request& defaults,
                             size_t max_file);

/// {"id":ID, and the result's fields.
std::string ResultLine(const std::string& id, const Result& result);

/// {"id":ID,"error":...}
std::string ErrorLine(const std::string& id, const std::string& error);

/// The text of a kernel's file ("-": stdin). Throws std::invalid_argument.
std::string ReadSource(const std::string& file,
                       size_t max_bytes = size_t{1} << 30);

}  // namespace jaxkern

#endif  // JAXKERN_CLI_REQUEST_LINE_H_
