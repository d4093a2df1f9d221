// Sessions over the fake toolchain and device, with the test as the client.
#include "cli/session.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "bundle.h"
#include "check.h"
#include "core/fd.h"

using jaxkern::Evaluator;
using jaxkern::Fd;
using jaxkern::Options;
using jaxkern::Session;
using jaxkern::SessionLimits;
using jaxkern::testing::kScaleKernel;
using jaxkern::testing::TemporaryDirectory;
using jaxkern::testing::WriteScaleBundle;
using nlohmann::json;

namespace {

Evaluator* SharedEvaluator() {
  static const TemporaryDirectory cache;
  static const auto evaluator = [] {
    Options options;
    options.cache_dir = cache.path();
    options.compile_workers = 4;  // some are left with endless sources
    return std::make_unique<Evaluator>(options);
  }();
  return evaluator.get();
}

/// A session on a thread of its own, and its client's end.
struct Fixture {
  explicit Fixture(const SessionLimits& limits = {}) {
    WriteScaleBundle(bundle);
    defaults.problem = bundle.path();
    int ends[2];
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client = Fd(ends[0]);
    server = Fd(ends[1]);
    thread = std::thread([this, limits] {
      Session session(SharedEvaluator(), defaults, server.get(), server.get(),
                      limits);
      ended = session.Run(stop.get());
      server.Close();
    });
  }
  ~Fixture() {
    client.Close();
    thread.join();
  }

  void Send(const std::string& text) const {
    CHECK_EQ(send(client.get(), text.data(), text.size(), MSG_NOSIGNAL),
             static_cast<ssize_t>(text.size()));
  }
  void SendRequest(const std::string& id, const std::string& source,
                   double timeout = 60) const {
    Send(json({{"id", id}, {"source", source}, {"compile_timeout_s", timeout}})
             .dump() +
         "\n");
  }
  void EndInput() const { shutdown(client.get(), SHUT_WR); }

  /// The next line; null at the end.
  json Receive() {
    while (buffer.find('\n') == std::string::npos) {
      char chunk[4096];
      const ssize_t n = read(client.get(), chunk, sizeof chunk);
      if (n <= 0) return nullptr;
      buffer.append(chunk, static_cast<size_t>(n));
    }
    const size_t end = buffer.find('\n');
    const json line = json::parse(buffer.substr(0, end));
    buffer.erase(0, end + 1);
    return line;
  }

  std::string EndlessSource() const {
    return jaxkern::testing::EndlessSource(bundle);
  }

  Session::Ended Join() {
    thread.join();
    thread = std::thread([] {});
    return ended;
  }

  TemporaryDirectory bundle;
  jaxkern::Request defaults;
  Fd client, server;
  const Fd stop{eventfd(0, EFD_CLOEXEC)};
  std::string buffer;
  Session::Ended ended = Session::Ended::kStopped;
  std::thread thread;
};

}  // namespace

TEST(ResultsComeWithTheirIdsAsTheyFinish) {
  Fixture f;
  f.SendRequest("slow", f.EndlessSource(), 5);
  f.SendRequest("right", kScaleKernel);
  f.EndInput();
  const json first = f.Receive(), second = f.Receive();
  CHECK_EQ(first["id"], "right");
  CHECK_EQ(first["status"], "ok");
  CHECK_EQ(second["id"], "slow");
  CHECK_EQ(second["status"], "timeout");
  CHECK(f.Receive().is_null());
  CHECK(f.Join() == Session::Ended::kAnswered);
}

TEST(AMalformedLineIsAnsweredAndEndsNothing) {
  Fixture f;
  f.Send("nonsense\n\n  \r\n{\"id\":3,\"source\":1}\n");
  const json first = f.Receive(), second = f.Receive();
  CHECK(first["id"].is_null() && first.contains("error"));
  CHECK_EQ(second["id"], 3);
  CHECK_EQ(second["error"], "source: expected a string, got 1");
  f.Send(R"({"id":4,"source":"x","bundle":"/no/bundle"})"
         "\n");
  const std::string error = f.Receive()["error"];
  CHECK_HAS(error, "/no/bundle/problem.json: expected a readable file");
  f.SendRequest("right", kScaleKernel);
  const json right = f.Receive();
  CHECK_EQ(right["status"], "ok");
}

TEST(TheLastLineNeedsNoEnd) {
  Fixture f;
  f.Send(R"({"id":1,"source":""})");
  f.EndInput();
  const json line = f.Receive();
  CHECK_EQ(line["status"], "extract_error");
  CHECK(f.Receive().is_null());
}

TEST(ALineThatIsTooLongIsAnsweredOnceAndSkipped) {
  SessionLimits limits;
  limits.line_bytes = 1000;
  Fixture f(limits);
  for (int i = 0; i < 50; ++i) {
    f.Send(std::string(900, 'x'));
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  f.Send("\n{\"id\":1,\"source\":\"\"}\n" + std::string(1001, 'y') + "\n7\n");
  f.EndInput();
  const std::string error = f.Receive()["error"];
  CHECK_HAS(error, "expected lines of at most 1000 bytes");
  std::string seen;
  for (json line = f.Receive(); !line.is_null(); line = f.Receive()) {
    seen += line.contains("status") ? "result " : "error ";
  }
  CHECK(seen == "error error result " || seen == "error result error " ||
        seen == "result error error ");
}

TEST(AClientThatDoesNotReadIsNotReadFrom) {
  SessionLimits limits;
  limits.requests = 10;
  Fixture f(limits);
  // Floods until nothing is taken for a while.
  fcntl(f.client.get(), F_SETFL, O_NONBLOCK);
  const std::string line = "x\n";
  size_t sent = 0;
  while (sent < size_t{64} << 20) {
    std::string flood;
    for (int i = 0; i < 4096; ++i) flood += line;
    const ssize_t n =
        send(f.client.get(), flood.data(), flood.size(), MSG_NOSIGNAL);
    if (n > 0) sent += static_cast<size_t>(n);
    pollfd writable = {f.client.get(), POLLOUT, 0};
    if (n <= 0 && poll(&writable, 1, 500) == 0) break;
  }
  CHECK(sent < size_t{8} << 20);  // what socket buffers hold, and a little
  fcntl(f.client.get(), F_SETFL, 0);
  f.EndInput();
  size_t answers = 0;
  while (!f.Receive().is_null()) ++answers;
  CHECK_EQ(answers, (sent + 1) / line.size());
  CHECK(f.Join() == Session::Ended::kAnswered);
}

TEST(AClientThatIsGoneEndsItsSession) {
  Fixture f;
  f.SendRequest("never", f.EndlessSource(), 60);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const auto start = std::chrono::steady_clock::now();
  f.client.Close();
  CHECK(f.Join() == Session::Ended::kGone);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
}

TEST(BeingStoppedEndsASession) {
  Fixture busy, idle;
  busy.SendRequest("never", busy.EndlessSource(), 60);
  idle.SendRequest("right", kScaleKernel);
  const json right = idle.Receive();
  CHECK_EQ(right["status"], "ok");
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  eventfd_write(busy.stop.get(), 1);
  eventfd_write(idle.stop.get(), 1);
  CHECK(busy.Join() == Session::Ended::kStopped);
  CHECK(idle.Join() == Session::Ended::kAnswered);
}

TEST(InputAndOutputMayBePipes) {
  int in[2], out[2];
  CHECK_EQ(pipe2(in, O_CLOEXEC), 0);
  CHECK_EQ(pipe2(out, O_CLOEXEC), 0);
  const Fd in_read(in[0]), out_read(out[0]), stop(eventfd(0, EFD_CLOEXEC));
  Fd in_write(in[1]), out_write(out[1]);
  const std::string flood(60'000, '\n');
  CHECK_EQ(write(in_write.get(), (flood + "1\n").data(), flood.size() + 2),
           static_cast<ssize_t>(flood.size() + 2));
  in_write.Close();
  Session session(SharedEvaluator(), {}, in_read.get(), out_write.get());
  CHECK(session.Run(stop.get()) == Session::Ended::kAnswered);
  char text[200] = {};
  CHECK(read(out_read.get(), text, sizeof text - 1) > 0);
  CHECK_HAS(std::string(text), "request: expected a JSON object, got 1");
}

int main() { return jaxkern::testing::RunTests(); }
