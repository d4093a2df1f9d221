#include "core/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <utility>

#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

namespace jaxkern {

Fd MakeMemory(size_t bytes) {
  const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
  // Kernels from 6.3 on may want to be told that it will hold code; older ones
  // do not know the flag.
  Fd fd(
      static_cast<int>(syscall(SYS_memfd_create, "jaxkern", flags | MFD_EXEC)));
  if (!fd) fd = Fd(memfd_create("jaxkern", flags));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return Fd();
  return fd;
}

bool WriteMemory(const Fd& fd, size_t at, const void* data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(fd.get(), static_cast<const char*>(data) + done,
                             bytes - done, static_cast<off_t>(at + done));
    if (n < 0 && errno != EINTR) return false;
    if (n > 0) done += static_cast<size_t>(n);
  }
  return true;
}

void SealMemory(const Fd& fd) {
  fcntl(fd.get(), F_ADD_SEALS,
        F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
}

Fd MakeWritableMemory(size_t bytes) {
  Fd fd = MakeMemory(bytes);
  if (fd)
    fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  return fd;
}

Fd MakeSealedMemory(const void* data, size_t bytes) {
  Fd fd = MakeMemory(bytes);
  if (!fd || !WriteMemory(fd, 0, data, bytes)) return Fd();
  SealMemory(fd);
  return fd;
}

Mapping::Mapping(int fd, size_t size, bool writable) {
  if (size == 0) return;
  void* mapped =
      mmap(nullptr, size, writable ? PROT_READ | PROT_WRITE : PROT_READ,
           writable ? MAP_SHARED : MAP_PRIVATE, fd, 0);
  if (mapped == MAP_FAILED) return;
  data = static_cast<char*>(mapped);
  bytes = size;
}

Mapping::Mapping(size_t size) {
  if (size == 0) return;
  void* mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return;
  data = static_cast<char*>(mapped);
  bytes = size;
}

Mapping::~Mapping() {
  if (data != nullptr) munmap(data, bytes);
}

Mapping::Mapping(Mapping&& other) noexcept
    : data(std::exchange(other.data, nullptr)),
      bytes(std::exchange(other.bytes, 0)) {}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  std::swap(data, other.data);
  std::swap(bytes, other.bytes);
  return *this;
}

}  // namespace jaxkern
