/// What the evaluator and a compile worker say to each other: lists of strings.
///
///   request   the text, how many options, the options, name expressions
///   reply     "ok" or "failed", the compiler's log, the cubin
#ifndef JAXKERN_BACKENDS_CUDA_NVRTC_CHANNEL_H_
#define JAXKERN_BACKENDS_CUDA_NVRTC_CHANNEL_H_

#include <chrono>
#include <string>
#include <vector>

namespace jaxkern {

struct NvrtcRequest {
  std::string text;
  std::vector<std::string> options, names;
};

struct NvrtcReply {
  bool ok = false;
  std::string log, cubin;
};

using Deadline = std::chrono::steady_clock::time_point;

/// False when the other side has gone, at the deadline, or when `cancel` (-1:
/// none) becomes readable.
bool Send(int socket, const NvrtcRequest& request, Deadline deadline,
          int cancel);
bool Receive(int socket, NvrtcReply* reply, Deadline deadline, int cancel);

/// The worker's side, which waits as long as it takes.
bool Send(int socket, const NvrtcReply& reply);
bool Receive(int socket, NvrtcRequest* request);

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_NVRTC_CHANNEL_H_
