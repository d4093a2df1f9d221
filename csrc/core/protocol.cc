#include "core/protocol.h"

#include <errno.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/compare.h"

namespace jaxkern {
namespace {

using nlohmann::json;

constexpr size_t kMaxDescriptors = 3 + kMostBaselines;
constexpr ssize_t kMaxMessage = 1 << 20;
constexpr size_t kAlignment = 64;
// Timed launches whose arrays are brought back for comparison: as many as fit,
// but one even of the largest.
constexpr size_t kTimedResults = size_t{32} << 20;
constexpr size_t kMostSlots = 1000;

size_t RoundUp(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

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
  return {static_cast<int>(value.kind),
          value.name,
          value.offset,
          value.bytes,
          value.poison,
          static_cast<int>(value.dtype),
          value.attribute.index(),
          attribute};
}

JobValue ParseValue(const json& parsed) {
  JobValue value;
  value.kind = static_cast<Argument::Kind>(parsed.at(0).get<int>());
  value.name = parsed.at(1);
  value.offset = parsed.at(2);
  value.bytes = parsed.at(3);
  value.poison = parsed.at(4);
  value.dtype = static_cast<Dtype>(parsed.at(5).get<int>());
  switch (parsed.at(6).get<int>()) {
    case 0:
      value.attribute = parsed.at(7).get<int64_t>();
      break;
    case 1:
      value.attribute = parsed.at(7).get<float>();
      break;
    default:
      value.attribute = parsed.at(7).get<bool>();
  }
  return value;
}

json ToJson(const JobCase& c) {
  json values = json::array();
  for (const JobValue& value : c.values) values.push_back(ToJson(value));
  return {c.timed, values, c.inputs, c.slots_at, c.slot_bytes, c.slots};
}

JobCase ParseCase(const json& parsed) {
  JobCase c;
  c.timed = parsed.at(0);
  for (const json& value : parsed.at(1)) c.values.push_back(ParseValue(value));
  c.inputs = parsed.at(2).get<std::vector<std::vector<size_t>>>();
  c.slots_at = parsed.at(3);
  c.slot_bytes = parsed.at(4);
  c.slots = parsed.at(5);
  return c;
}

json ToJson(const Timing& timing) {
  return {timing.index,      timing.first_launch, timing.batch,
          timing.times_us,   timing.baselines_us, timing.kept,
          timing.read_limit, timing.first_us,     timing.first_work,
          timing.work,       timing.fresh_us,     timing.known_us,
          timing.read};
}

Timing ParseTiming(const json& parsed) {
  Timing timing;
  timing.index = parsed.at(0);
  timing.first_launch = parsed.at(1);
  timing.batch = parsed.at(2);
  timing.times_us = parsed.at(3).get<std::vector<double>>();
  timing.baselines_us = parsed.at(4).get<std::vector<std::vector<double>>>();
  timing.kept = parsed.at(5).get<std::vector<int>>();
  timing.read_limit = parsed.at(6);
  timing.first_us = parsed.at(7);
  timing.first_work = parsed.at(8);
  timing.work = parsed.at(9);
  timing.fresh_us = parsed.at(10).get<std::vector<double>>();
  timing.known_us = parsed.at(11).get<std::vector<double>>();
  timing.read = parsed.at(12).get<std::vector<int>>();
  return timing;
}

JobCase MakeCase(const Problem& problem, const Case& c) {
  JobCase made;
  made.timed = c.timed;
  auto input = c.inputs.begin();
  auto output = c.outputs.begin();
  auto attribute = c.attributes.begin();
  for (const Argument& argument : problem.arguments) {
    JobValue value;
    value.kind = argument.kind;
    value.name = argument.name;
    if (argument.kind == Argument::Kind::kAttribute) {
      value.attribute = *attribute++;
    } else {
      const bool is_input = argument.kind == Argument::Kind::kInput;
      value.bytes = is_input ? (input++)->bytes : (output++)->bytes;
      value.offset = made.slot_bytes;
      value.dtype = argument.dtype;
      value.poison = PoisonByte(argument.dtype);
      made.slot_bytes += RoundUp(value.bytes);
    }
    made.values.push_back(std::move(value));
  }
  for (int v = 0; v < c.variants(); ++v) {
    std::vector<size_t>& offsets = made.inputs.emplace_back();
    for (const Array& array : c.variant(v).inputs) {
      offsets.push_back(array.offset);
    }
  }
  return made;
}

}  // namespace

Job MakeJob(const Problem& problem, const JobOptions& options,
            std::vector<JobBaseline> baselines) {
  Job job;
  job.baselines = std::move(baselines);
  job.seed = options.seed;
  job.repetitions = options.repetitions;
  job.flush = options.flush;
  job.rules = options.rules;
  job.timeout_s = options.timeout_s;
  job.batch_bytes = options.batch_bytes;
  job.input_bytes = problem.inputs.bytes;
  size_t timed = 0;
  for (const Case& c : problem.cases) timed += c.timed;
  for (const Case& c : problem.cases) {
    JobCase made = MakeCase(problem, c);
    if (c.timed && options.repetitions > 0) {
      const size_t room =
          kTimedResults / timed / std::max<size_t>(made.slot_bytes, 1);
      made.slots += static_cast<int>(std::clamp<size_t>(room, 1, kMostSlots));
    }
    made.slots_at = job.result_bytes;
    const size_t slots =
        static_cast<size_t>(made.slots) + (c.timed ? job.baselines.size() : 0);
    job.result_bytes += slots * made.slot_bytes;
    job.cases.push_back(std::move(made));
  }
  return job;
}

std::string JobText(const Job& job) {
  json cases = json::array();
  for (const JobCase& c : job.cases) cases.push_back(ToJson(c));
  json baselines = json::array();
  for (const JobBaseline& b : job.baselines) {
    baselines.push_back(
        {{"name", b.name}, {"libraries", b.libraries}, {"tried", b.tried}});
  }
  const json text = {
      {"cases", cases},
      {"baselines", baselines},
      {"seed", job.seed},
      {"repetitions", job.repetitions},
      {"flush", job.flush},
      {"rules", job.rules},
      {"timeout_s", job.timeout_s},
      {"batch_bytes", job.batch_bytes},
      {"input_bytes", job.input_bytes},
      {"result_bytes", job.result_bytes},
  };
  return text.dump();
}

Job ParseJob(const std::string& text) {
  const json parsed = json::parse(text);
  Job job;
  for (const json& c : parsed.at("cases")) job.cases.push_back(ParseCase(c));
  for (const json& b : parsed.at("baselines")) {
    job.baselines.push_back({b.at("name"),
                             b.at("libraries").get<std::vector<std::string>>(),
                             b.at("tried")});
  }
  job.seed = parsed.at("seed");
  job.repetitions = parsed.at("repetitions");
  job.flush = parsed.at("flush");
  job.rules = parsed.at("rules");
  job.timeout_s = parsed.at("timeout_s");
  job.batch_bytes = parsed.at("batch_bytes");
  job.input_bytes = parsed.at("input_bytes");
  job.result_bytes = parsed.at("result_bytes");
  return job;
}

bool SendJob(int socket, const Job& job, const std::vector<int>& memory) {
  return Send(socket, JobText(job), memory);
}

bool ReceiveJob(int socket, Job* job, std::vector<Fd>* memory) {
  std::string text;
  if (!Receive(socket, &text, memory)) return false;
  *job = ParseJob(text);
  return true;
}

bool SendEvent(int socket, const Event& event) {
  const json message = {
      {"kind", static_cast<int>(event.kind)},
      {"text", event.text},
      {"status", static_cast<int>(event.status)},
      {"rule", event.rule},
      {"index", event.index},
      {"baseline", event.baseline},
      {"reusable", event.reusable},
      {"timing", ToJson(event.timing)},
      {"notes", event.notes},
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
    event->rule = message.at("rule");
    event->index = message.at("index");
    event->baseline = message.at("baseline");
    event->reusable = message.at("reusable");
    event->timing = ParseTiming(message.at("timing"));
    event->notes = message.at("notes").get<std::vector<std::string>>();
  } catch (const json::exception&) {
    return false;  // a candidate may have written it
  }
  return true;
}

}  // namespace jaxkern
