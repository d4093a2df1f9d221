#include "cli/server.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <list>
#include <stdexcept>
#include <thread>

namespace jaxkern {
namespace {

constexpr size_t kMaxClients = 256;  // more wait to be accepted

[[noreturn]] void Fail(const std::string& path, const std::string& expected,
                       const std::string& got) {
  throw std::invalid_argument("--serve: expected " + expected + " at " + path +
                              ", got " + got);
}

sockaddr_un Address(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    throw std::invalid_argument("--serve: expected a path of 1 to " +
                                std::to_string(sizeof address.sun_path - 1) +
                                " bytes, got \"" + path + "\"");
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

const sockaddr* Generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

/// Device and number of a file; "" if there is none.
std::string Identity(const std::string& path) {
  struct stat file = {};
  if (lstat(path.c_str(), &file) != 0) return "";
  return std::to_string(file.st_dev) + ":" + std::to_string(file.st_ino);
}

/// Removes the socket of a server that has died; throws if it lives, or if the
/// file is no socket.
void RemoveStale(const std::string& path, const sockaddr_un& address) {
  struct stat file = {};
  if (lstat(path.c_str(), &file) != 0) return;
  if (!S_ISSOCK(file.st_mode)) Fail(path, "no file or a socket", "a file");
  const Fd probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (connect(probe.get(), Generic(address), sizeof address) == 0) {
    Fail(path, "no other server", "one that answers");
  }
  if (errno != ECONNREFUSED) {
    Fail(path, "a socket of ours", std::strerror(errno));
  }
  unlink(path.c_str());
}

/// Held while sockets of a directory change, so that of two servers that start
/// at once neither removes the other's.
Fd LockDirectory(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string directory = slash == std::string::npos ? "."
                                : slash == 0 ? "/"
                                             : path.substr(0, slash);
  Fd lock(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!lock) Fail(path, "a directory", std::strerror(errno));
  while (flock(lock.get(), LOCK_EX) != 0 && errno == EINTR) {
  }
  return lock;
}

struct Client {
  Fd socket;
  std::atomic<bool> ended{false};
  std::thread thread;
};

void Reap(std::list<Client>* clients, bool all) {
  for (auto it = clients->begin(); it != clients->end();) {
    if (!all && !it->ended) {
      ++it;
      continue;
    }
    it->thread.join();
    it = clients->erase(it);
  }
}

}  // namespace

Fd CatchStop() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);  // who does not read is found out by writing
  Fd stop(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!stop) throw std::runtime_error("no descriptor for signals");
  return stop;
}

Listener::Listener(const std::string& path) : path_(path) {
  const sockaddr_un address = Address(path);
  const Fd lock = LockDirectory(path);
  RemoveStale(path, address);
  socket_ = Fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  // Linux gives the file this mode, less the umask.
  fchmod(socket_.get(), S_IRUSR | S_IWUSR);
  if (bind(socket_.get(), Generic(address), sizeof address) != 0) {
    Fail(path, "a place for a socket", std::strerror(errno));
  }
  identity_ = Identity(path);
  if (listen(socket_.get(), SOMAXCONN) != 0) {
    Fail(path, "to listen", std::strerror(errno));
  }
}

Listener::~Listener() {
  if (!identity_.empty() && Identity(path_) == identity_) {
    unlink(path_.c_str());
  }
}

void ServeSocket(const Listener& listener, int stop,
                 const std::function<void(int client)>& session) {
  const Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::list<Client> clients;
  while (true) {
    const bool accepts = clients.size() < kMaxClients;
    pollfd events[] = {{stop, POLLIN, 0},
                       {wake.get(), POLLIN, 0},
                       {accepts ? listener.fd() : -1, POLLIN, 0}};
    poll(events, 3, -1);
    if (events[0].revents != 0) break;
    eventfd_t count;
    eventfd_read(wake.get(), &count);
    Reap(&clients, /*all=*/false);
    if (events[2].revents == 0) continue;
    Fd socket(accept4(listener.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket) {
      // Without descriptors left, accepting would fail again at once.
      if (errno == EMFILE || errno == ENFILE) usleep(100'000);
      continue;
    }
    Client& client = clients.emplace_back();
    client.socket = std::move(socket);
    client.thread = std::thread([&client, &wake, &session] {
      session(client.socket.get());
      client.ended = true;
      eventfd_write(wake.get(), 1);
    });
  }
  Reap(&clients, /*all=*/true);
}

}  // namespace jaxkern
