#include "backends/cuda/nvrtc_pool.h"

#include <sys/socket.h>

#include <utility>

namespace jaxkern {
namespace {

// NVRTC keeps some memory of every compilation.
constexpr int kMostCompilations = 500;

std::vector<std::string> Argv(std::string program,
                              std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), std::move(program));
  return arguments;
}

}  // namespace

NvrtcPool::Worker::~Worker() {
  socket.Close();
  Finish(&process);
}

NvrtcPool::NvrtcPool(std::string program, std::vector<std::string> arguments)
    : argv_(Argv(std::move(program), std::move(arguments))) {}

std::unique_ptr<NvrtcPool::Worker> NvrtcPool::Take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (idle_.empty()) return nullptr;
  std::unique_ptr<Worker> worker = std::move(idle_.back());
  idle_.pop_back();
  return worker;
}

std::unique_ptr<NvrtcPool::Worker> NvrtcPool::New(
    const Workshop& workshop) const {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return nullptr;
  }
  auto worker = std::make_unique<Worker>();
  worker->socket = Fd(ends[0]);
  const Fd other(ends[1]);
  const std::string directory = workshop.KeptDirectory();
  if (directory.empty() ||
      !workshop.Start(argv_, directory, other.get(), &worker->process)) {
    return nullptr;
  }
  return worker;
}

NvrtcPool::Compilation NvrtcPool::Start(const NvrtcRequest& request,
                                        const Workshop& workshop) {
  // One that was idle may have died: with the thread that started it, or for
  // want of memory.
  while (auto worker = Take()) {
    if (!HasExited(worker->process) &&
        Send(worker->socket.get(), request, workshop.Deadline(),
             workshop.Cancel())) {
      return {this, std::move(worker)};
    }
  }
  auto worker = New(workshop);
  if (worker == nullptr || !Send(worker->socket.get(), request,
                                 workshop.Deadline(), workshop.Cancel())) {
    return {};
  }
  return {this, std::move(worker)};
}

std::optional<NvrtcReply> NvrtcPool::Compilation::Wait(
    const Workshop& workshop) {
  std::unique_ptr<Worker> worker = std::move(worker_);
  NvrtcReply reply;
  if (worker == nullptr || !Receive(worker->socket.get(), &reply,
                                    workshop.Deadline(), workshop.Cancel())) {
    return std::nullopt;
  }
  std::string ignored;  // nothing should be there, but a pipe can fill
  Drain(worker->process, 0, &ignored);
  if (++worker->compilations < kMostCompilations) {
    const std::lock_guard<std::mutex> lock(pool_->mutex_);
    pool_->idle_.push_back(std::move(worker));
  }
  return reply;
}

}  // namespace jaxkern
