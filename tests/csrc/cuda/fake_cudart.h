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
  size_t flushed = 0;   ///< bytes of the last asynchronous memset
  std::string calls;    ///< one letter a call: m memset, r record, s sync
};

Fake& fake();

#endif  // JAXKERN_TESTS_CUDA_FAKE_CUDART_H_
