#include "cli/server.h"

#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <thread>

#include "check.h"

using jaxkern::Fd;
using jaxkern::Listener;
using jaxkern::testing::TemporaryDirectory;

namespace {

Fd Connect(const std::string& path) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::strcpy(address.sun_path, path.c_str());
  Fd client(socket(AF_UNIX, SOCK_STREAM, 0));
  CHECK_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address),
                   sizeof address),
           0);
  return client;
}

bool Exists(const std::string& path) {
  struct stat file = {};
  return lstat(path.c_str(), &file) == 0;
}

}  // namespace

TEST(TheSocketIsTheUsersAloneAndGoesWithItsListener) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/s";
  {
    const Listener listener(path);
    struct stat file = {};
    CHECK_EQ(lstat(path.c_str(), &file), 0);
    CHECK(S_ISSOCK(file.st_mode));
    CHECK_EQ(file.st_mode & 0077, 0U);
  }
  CHECK(!Exists(path));
}

TEST(AStaleSocketIsReplacedAndALiveOneIsNot) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/s";
  {
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strcpy(address.sun_path, path.c_str());
    const Fd dead(socket(AF_UNIX, SOCK_STREAM, 0));
    CHECK_EQ(
        bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof address),
        0);
  }
  CHECK(Exists(path));
  const Listener listener(path);
  Connect(path);
  CHECK_THROWS(Listener second(path), std::invalid_argument,
               "--serve: expected no other server at " + path);
  CHECK(Exists(path));
}

TEST(WhatIsNoSocketIsLeftAlone) {
  const TemporaryDirectory directory;
  const std::string path = directory.Write("file", "precious");
  CHECK_THROWS(Listener listener(path), std::invalid_argument,
               "expected no file or a socket");
  CHECK(Exists(path));
  CHECK_THROWS(Listener listener(directory.path() + "/no/s"),
               std::invalid_argument, "expected a directory");
  CHECK_THROWS(Listener listener(std::string(200, 'x')), std::invalid_argument,
               "expected a path of 1 to 107 bytes");
}

TEST(AnothersSocketOfTheSameNameIsNotRemoved) {
  const TemporaryDirectory directory;
  const std::string path = directory.path() + "/s";
  auto first = std::make_unique<Listener>(path);
  unlink(path.c_str());
  const Listener second(path);
  first.reset();
  CHECK(Exists(path));
}

TEST(ClientsAreServedAtOnceAndAwaitedInTheEnd) {
  const TemporaryDirectory directory;
  const Listener listener(directory.path() + "/s");
  const Fd stop(eventfd(0, 0));
  std::atomic<int> at_once{0}, ended{0};
  std::thread server([&] {
    jaxkern::ServeSocket(listener, stop.get(), [&](int client) {
      ++at_once;
      char byte;
      while (read(client, &byte, 1) > 0 && at_once < 3) {
      }
      while (at_once < 3) std::this_thread::yield();
      ++ended;
    });
  });
  {
    const Fd a = Connect(directory.path() + "/s"),
             b = Connect(directory.path() + "/s"),
             c = Connect(directory.path() + "/s");
    while (at_once < 3) std::this_thread::yield();
  }
  eventfd_write(stop.get(), 1);
  server.join();
  CHECK_EQ(ended.load(), 3);
}

int main() { return jaxkern::testing::RunTests(); }
