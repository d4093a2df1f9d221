/// A file descriptor with an owner.
#ifndef JAXKERN_CORE_FD_H_
#define JAXKERN_CORE_FD_H_

#include <unistd.h>

#include <utility>

namespace jaxkern {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() { Close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void Close() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_FD_H_
