#include "backends/cuda/nvrtc_channel.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

namespace jaxkern {
namespace {

using Clock = std::chrono::steady_clock;

constexpr uint64_t kMostBytes = uint64_t{1} << 30;
constexpr uint64_t kMostStrings = 1 << 16;

/// One end of the channel, for as long as a message takes.
struct End {
  int socket;
  Deadline deadline = Deadline::max();
  int cancel = -1;

  /// Waits until `events`; false if that is not to be.
  bool Wait(short events) const {
    int left = -1;
    if (deadline != Deadline::max()) {
      left = static_cast<int>(std::max<int64_t>(
          0,
          std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now())
              .count()));
    }
    pollfd fds[] = {{socket, events, 0}, {cancel, POLLIN, 0}};
    const int ready = poll(fds, 2, left);
    if (ready < 0) return errno == EINTR;
    return ready > 0 && fds[1].revents == 0;
  }

  bool Write(const char* data, uint64_t bytes) const {
    while (bytes > 0) {
      if (!Wait(POLLOUT)) return false;
      const ssize_t n = send(socket, data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno != EAGAIN && errno != EINTR) return false;
      if (n > 0) data += n, bytes -= static_cast<uint64_t>(n);
    }
    return true;
  }

  bool Read(char* data, uint64_t bytes) const {
    while (bytes > 0) {
      if (!Wait(POLLIN)) return false;
      const ssize_t n = recv(socket, data, bytes, MSG_DONTWAIT);
      if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) return false;
      if (n > 0) data += n, bytes -= static_cast<uint64_t>(n);
    }
    return true;
  }
};

bool SendStrings(const End& end, const std::vector<std::string>& strings) {
  std::string message;
  const auto number = [&](uint64_t value) {
    message.append(reinterpret_cast<const char*>(&value), sizeof value);
  };
  number(strings.size());
  for (const std::string& text : strings) {
    number(text.size());
    message += text;
  }
  return end.Write(message.data(), message.size());
}

bool ReceiveStrings(const End& end, std::vector<std::string>* strings) {
  uint64_t count = 0, total = 0;
  if (!end.Read(reinterpret_cast<char*>(&count), sizeof count) ||
      count > kMostStrings) {
    return false;
  }
  strings->clear();
  for (; count > 0; --count) {
    uint64_t bytes = 0;
    if (!end.Read(reinterpret_cast<char*>(&bytes), sizeof bytes) ||
        bytes > kMostBytes || (total += bytes) > kMostBytes) {
      return false;
    }
    strings->emplace_back(bytes, '\0');
    if (!end.Read(strings->back().data(), bytes)) return false;
  }
  return true;
}

}  // namespace

bool Send(int socket, const NvrtcRequest& request, Deadline deadline,
          int cancel) {
  std::vector<std::string> strings = {request.text,
                                      std::to_string(request.options.size())};
  strings.insert(strings.end(), request.options.begin(), request.options.end());
  strings.insert(strings.end(), request.names.begin(), request.names.end());
  return SendStrings({socket, deadline, cancel}, strings);
}

bool Receive(int socket, NvrtcReply* reply, Deadline deadline, int cancel) {
  std::vector<std::string> strings;
  if (!ReceiveStrings({socket, deadline, cancel}, &strings) ||
      strings.size() != 3) {
    return false;
  }
  *reply = {strings[0] == "ok", strings[1], strings[2]};
  return true;
}

bool Send(int socket, const NvrtcReply& reply) {
  return SendStrings({socket},
                     {reply.ok ? "ok" : "failed", reply.log, reply.cubin});
}

bool Receive(int socket, NvrtcRequest* request) {
  std::vector<std::string> strings;
  if (!ReceiveStrings({socket}, &strings) || strings.size() < 2) return false;
  const size_t options = std::strtoul(strings[1].c_str(), nullptr, 10);
  if (options > strings.size() - 2) return false;
  const auto names = strings.begin() + 2 + static_cast<long>(options);
  request->text = strings[0];
  request->options.assign(strings.begin() + 2, names);
  request->names.assign(names, strings.end());
  return true;
}

}  // namespace jaxkern
