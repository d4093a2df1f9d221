/// One timing at a time per device, whichever process does it.
#ifndef JAXKERN_CORE_DEVICE_LOCK_H_
#define JAXKERN_CORE_DEVICE_LOCK_H_

#include <string>

#include "core/fd.h"

namespace jaxkern {

/// Held from construction to destruction. It is a lock of the operating
/// system's on a file in a place that all processes of the host know, so it
/// dies with its holder, and a stale file locks nobody out.
class DeviceLock {
 public:
  /// `device` is what the worker calls it. Waits until it is free, or until
  /// `cancel` is readable; held() says which. Where no such file can be made,
  /// it locks nothing.
  DeviceLock(const std::string& device, int cancel);

  bool held() const { return held_; }

  /// Where the lock of that device lies.
  static std::string Path(const std::string& device);

 private:
  Fd file_;
  bool held_ = false;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_DEVICE_LOCK_H_
