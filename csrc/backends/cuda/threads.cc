#include "backends/cuda/threads.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <cstring>
#include <memory>

// The sanitizers have a pthread_create of their own.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define JAXKERN_SEES_THREADS 0
#else
#define JAXKERN_SEES_THREADS 1
#endif

namespace jaxkern {
namespace {

std::atomic<int> threads{0};

#if JAXKERN_SEES_THREADS
struct Start {
  void* (*function)(void*);
  void* argument;
};

bool IsOfTheDriver(const void* caller) {
  Dl_info info;
  if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* slash = std::strrchr(info.dli_fname, '/');
  const char* name = slash != nullptr ? slash + 1 : info.dli_fname;
  return std::strncmp(name, "libcuda", 7) == 0 ||
         std::strncmp(name, "libnvidia", 9) == 0;
}

/// Also when the thread is cancelled or calls pthread_exit.
struct Counted {
  ~Counted() { --threads; }
};

void* Run(void* raw) {
  const Counted counted;
  const Start start = *std::unique_ptr<Start>(static_cast<Start*>(raw));
  return start.function(start.argument);
}
#endif

}  // namespace

int CandidateThreads() { return JAXKERN_SEES_THREADS ? threads.load() : -1; }

}  // namespace jaxkern

#if JAXKERN_SEES_THREADS
// The dynamic loader resolves everybody's calls here first.
extern "C" __attribute__((visibility("default"))) int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes,
    void* (*function)(void*), void* argument) {
  using Create =
      int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create =
      reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  if (jaxkern::IsOfTheDriver(__builtin_return_address(0))) {
    return create(thread, attributes, function, argument);
  }
  auto* start = new jaxkern::Start{function, argument};
  ++jaxkern::threads;
  const int error = create(thread, attributes, jaxkern::Run, start);
  if (error != 0) {
    --jaxkern::threads;
    delete start;
  }
  return error;
}
#endif
