#include "core/protocol.h"

#include <errno.h>
#include <sys/socket.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "core/compare.h"

namespace jaxkern {
namespace {

using nlohmann::json;

constexpr size_t kMaxDescriptors = 8;
constexpr ssize_t kMaxMessage = 1 << 20;

bool Send(int socket, const std::string& text, const std::vector<int>& fds) {
  iovec part = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(text.size());
}

/// Descriptors are taken only where they are wanted: a candidate that writes to
/// the channel cannot fill our table.
bool Receive(int socket, std::string* text, std::vector<Fd>* fds) {
  ssize_t size;
  do {
    size = recv(socket, nullptr, 0, MSG_PEEK | MSG_TRUNC);
  } while (size < 0 && errno == EINTR);
  if (size <= 0 || size > kMaxMessage) return false;
  text->resize(static_cast<size_t>(size));
  iovec part = {text->data(), text->size()};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (fds != nullptr) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
  }
  ssize_t got;
  do {
    got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  for (cmsghdr* header = fds != nullptr ? CMSG_FIRSTHDR(&message) : nullptr;
       header != nullptr; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
      fds->emplace_back(fd);
    }
  }
  return got == size;
}

json ToJson(const JobValue& value) {
  const json attribute =
      std::visit([](auto v) { return json(v); }, value.attribute);
  return {static_cast<int>(value.kind), value.offset, value.bytes, value.poison,
          value.attribute.index(),      attribute};
}

JobValue ParseValue(const json& parsed) {
  JobValue value;
  value.kind = static_cast<Argument::Kind>(parsed.at(0).get<int>());
  value.offset = parsed.at(1);
  value.bytes = parsed.at(2);
  value.poison = parsed.at(3);
  switch (parsed.at(4).get<int>()) {
    case 0:
      value.attribute = parsed.at(5).get<int64_t>();
      break;
    case 1:
      value.attribute = parsed.at(5).get<float>();
      break;
    default:
      value.attribute = parsed.at(5).get<bool>();
  }
  return value;
}

JobValue ArrayValue(const Array& array, Argument::Kind kind, int poison) {
  JobValue value;
  value.kind = kind;
  value.offset = array.offset;
  value.bytes = array.bytes;
  value.poison = poison;
  return value;
}

}  // namespace

Job MakeJob(const Problem& problem, int repetitions, double timeout_s) {
  Job job;
  job.repetitions = repetitions;
  job.timeout_s = timeout_s;
  job.input_bytes = problem.inputs.bytes;
  job.inputs_after = problem.expected.size();
  job.result_bytes = problem.expected.size() + problem.inputs.bytes;
  for (const Case& c : problem.cases) {
    JobCase added;
    added.timed = c.timed;
    auto input = c.inputs.begin();
    auto output = c.outputs.begin();
    auto attribute = c.attributes.begin();
    for (const Argument& argument : problem.arguments) {
      JobValue value;
      switch (argument.kind) {
        case Argument::Kind::kInput:
          value = ArrayValue(*input++, argument.kind, 0);
          break;
        case Argument::Kind::kOutput:
          value =
              ArrayValue(*output++, argument.kind, PoisonByte(argument.dtype));
          break;
        case Argument::Kind::kAttribute:
          value.attribute = *attribute++;
      }
      added.values.push_back(value);
    }
    job.cases.push_back(std::move(added));
  }
  return job;
}

bool SendJob(int socket, const Job& job, const std::vector<int>& memory) {
  json cases = json::array();
  for (const JobCase& c : job.cases) {
    json values = json::array();
    for (const JobValue& value : c.values) values.push_back(ToJson(value));
    cases.push_back({c.timed, std::move(values)});
  }
  const json message = {
      {"cases", cases},
      {"repetitions", job.repetitions},
      {"timeout_s", job.timeout_s},
      {"input_bytes", job.input_bytes},
      {"result_bytes", job.result_bytes},
      {"inputs_after", job.inputs_after},
  };
  return Send(socket, message.dump(), memory);
}

bool ReceiveJob(int socket, Job* job, std::vector<Fd>* memory) {
  std::string text;
  if (!Receive(socket, &text, memory)) return false;
  const json message = json::parse(text);
  for (const json& c : message.at("cases")) {
    JobCase added;
    added.timed = c.at(0);
    for (const json& value : c.at(1)) added.values.push_back(ParseValue(value));
    job->cases.push_back(std::move(added));
  }
  job->repetitions = message.at("repetitions");
  job->timeout_s = message.at("timeout_s");
  job->input_bytes = message.at("input_bytes");
  job->result_bytes = message.at("result_bytes");
  job->inputs_after = message.at("inputs_after");
  return true;
}

bool SendEvent(int socket, const Event& event) {
  const json message = {
      {"kind", static_cast<int>(event.kind)},
      {"text", event.text},
      {"status", static_cast<int>(event.status)},
      {"index", event.index},
      {"baseline", event.baseline},
      {"reusable", event.reusable},
      {"times_us", event.times_us},
  };
  return Send(socket,
              message.dump(-1, ' ', false, json::error_handler_t::replace), {});
}

bool ReceiveEvent(int socket, Event* event) {
  std::string text;
  if (!Receive(socket, &text, nullptr)) return false;
  try {
    const json message = json::parse(text);
    event->kind = static_cast<Event::Kind>(message.at("kind").get<int>());
    event->text = message.at("text");
    event->status = static_cast<Status>(message.at("status").get<int>());
    event->index = message.at("index");
    event->baseline = message.at("baseline");
    event->reusable = message.at("reusable");
    event->times_us = message.at("times_us").get<std::vector<double>>();
  } catch (const json::exception&) {
    return false;  // a candidate may have written it
  }
  return true;
}

}  // namespace jaxkern
