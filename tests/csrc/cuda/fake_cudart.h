/// The strings of a stand-in for libcudart whose clock only moves when told to.
#ifndef JAXKERN_TESTS_CUDA_FAKE_CUDART_H_
#define JAXKERN_TESTS_CUDA_FAKE_CUDART_H_

#include <cstddef>
#include <string>

struct Fake {
  double now_us = 0;
  int devices = 1;
  int l2_bytes = 50 << 20;
  size_t free_bytes = size_t{8} << 30;
  int last = 0;     ///< what GetLastError returns and clears
  int pending = 0;  ///< an asynchronous fault: the next synchronise returns it
  bool sticky = false;  ///< and so do all later calls
  size_t flushed = 0;   ///< bytes of all copies on the device
  double copy_us = 0;   ///< of an asynchronous copy
  size_t launched = 0;  ///< what the last kernel was launched with
  void* launched_on = nullptr;
  char capturing = 0;  ///< its address is a stream in capture
  /// One letter a call: h host function, r record, k kernel, c copy, f copies
  /// on the device, p reset of the cache, e wait for an event, w wait for a
  /// stream, s for the device.
  std::string calls;
};

struct FakeDim3 {
  unsigned x, y, z;
};

Fake& fake();

/// A thread of the driver's own, until it is ended.
void StartDriverThread();
void EndDriverThread();

#endif  // JAXKERN_TESTS_CUDA_FAKE_CUDART_H_
