"""Candidates that do their worst, each with the result it must have.

All are for the task of conftest.py, y = a * x. Some behave badly and are still
right: their status is ok, and what they leave behind must be gone.
"""

from typing import NamedTuple

KERNEL = """
%(before)s
__global__ void scale(const float* x, float* y, int64_t n, float a) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  %(kernel)s
}
extern "C" int launch(const float* x, float* y, int64_t n, float a,
                      cudaStream_t stream) {
  %(host)s
  scale<<<(n + 63) / 64, 64, 0, stream>>>(x, y, n, a);
  return cudaGetLastError();
}
"""
SECCOMP, LANDLOCK = "(seccomp)", "(Landlock"
SHARED_MEMORY, SYSTEM_V_KEY = "jaxkern-storm", 0x6A61786B
RIGHT = "if (i < n) y[i] = a * x[i];"


class Candidate(NamedTuple):
  """A source and the result it must have."""

  source: str
  status: str
  log: str = ""  # a part of it
  run_timeout_s: float = 20.0
  needs: str = ""  # the protection that stops it, as `describe` names it
  rule: str = ""  # that it breaks before it runs, unless rules are left out


def _in_kernel(line: str, status: str, log: str = "", **more) -> Candidate:
  before = more.pop("before", "")
  source = KERNEL % {"before": before, "kernel": line, "host": ""}
  return Candidate(source, status, log, **more)


def _on_host(line: str, status: str, log: str = "", **more) -> Candidate:
  headers = "pthread.h signal.h stdio.h stdlib.h string.h unistd.h "
  headers += more.pop("headers", "")
  before = "\n".join(f"#include <{header}>" for header in headers.split())
  before += "\n" + more.pop("before", "")
  source = KERNEL % {"before": before, "kernel": RIGHT, "host": line}
  return Candidate(source, status, log, **more)


def _refused(line: str, log: str, **more) -> Candidate:
  return _on_host(line, "runtime_error", log, needs=SECCOMP, **more)


ORDINARY = {
  "right": _in_kernel(RIGHT, "ok"),
  "right_doubled": _in_kernel("if (i < n) y[i] = a * x[i] + a * 0.f;", "ok"),
  "wrong": _in_kernel(
    "if (i < n) y[i] = a * x[i] + (i == 3);", "wrong_answer", "y[3] = "
  ),
  "never_written": _in_kernel(
    "if (i < 4) y[i] = a * x[i];", "wrong_answer", "never written"
  ),
  "nonfinite": _in_kernel("if (i < n) y[i] = a / 0.f;", "nonfinite", "Inf"),
}

FAULTS = {
  # Memory that is not theirs.
  "null_pointer": _in_kernel("*(volatile float*)8 = 1;", "runtime_error"),
  "wild_pointer": _in_kernel("y[i + (1ll << 40)] = 1;", "runtime_error"),
  "host_null_pointer": _on_host(
    "*(volatile int*)8 = 1;", "runtime_error", "egmentation fault"
  ),
  "stack_overflow": _on_host(
    "y[0] += down(&n);",
    "runtime_error",
    "egmentation fault",
    before="__attribute__((noinline)) long down(volatile long* p) {\n"
    "  volatile long a[99]; a[0] = *p; return down(a) + a[1]; }",
  ),
  "device_stack_overflow": _in_kernel(
    "if (i < n) y[i] = down((int)n);",
    "runtime_error",
    before="__device__ __noinline__ int down(int v) {\n"
    "  volatile int a[64]; a[v & 63] = v; return down(v + 1) + a[v & 31]; }",
  ),
  # Memory without end.
  "host_allocation": _on_host(
    "static volatile char* p; p = new char[1ll << 50]; if (p[1]) return 9;",
    "out_of_memory",
    "bad_alloc",
  ),
  "host_allocations": _on_host(
    "while (true) memset(new char[1 << 26], 1, 1 << 26);",
    "out_of_memory",
    run_timeout_s=60.0,
  ),
  "device_allocation": _on_host(
    "void* p; int e = cudaMalloc(&p, 1ll << 42); if (e) return e;",
    "out_of_memory",
    "cudaErrorMemoryAllocation",
  ),
  # Ends.
  "exit": _on_host("exit(0);", "runtime_error", "exited with code 0 instead"),
  "exit_at_once": _on_host("_exit(0);", "runtime_error", "exited with code 0"),
  "abort": _on_host("abort();", "runtime_error", "aborted"),
  "abort_when_loaded": _on_host(
    "",
    "runtime_error",
    "aborted while loading",
    before="struct First { First() { abort(); } } first;",
  ),
  "terminate": _on_host(
    'std::thread([] { throw std::runtime_error("oh"); }).join();',
    "runtime_error",
    "terminate called",
    headers="stdexcept thread",
  ),
  "exception": _on_host("throw 7;", "runtime_error", "uncaught exception"),
  "exception_of_its_own": _on_host(
    "throw Odd();",
    "runtime_error",
    "uncaught exception in launch: n is odd",
    headers="exception",
    before="struct Odd : std::exception {\n"
    '  const char* what() const noexcept override { return "n is odd"; } };',
  ),
  "device_assert": _in_kernel(
    "assert(i < 3);", "runtime_error", "i < 3", before="#include <cassert>"
  ),
  "trap": _in_kernel("if (i == 3) __trap();", "runtime_error"),
  # No end.
  "endless_on_host": _on_host(
    "for (volatile int go = 1; go;) {}", "timeout", run_timeout_s=1.0
  ),
  "endless_in_kernel": _in_kernel(
    "while (clock64() != 1) {}", "timeout", run_timeout_s=1.0
  ),
  "asleep": _on_host("while (true) sleep(9);", "timeout", run_timeout_s=1.0),
  "output_flood": _on_host(
    "static char text[1 << 20];\n"
    "  for (long k = 0; k < 10240; ++k) fwrite(text, 1, sizeof text, stdout);",
    "runtime_error",
    "printed more than 64 MiB",
  ),
  "thread_flood": _on_host(
    "pthread_attr_t small; pthread_attr_init(&small);\n"
    "  pthread_attr_setstacksize(&small, 16384);\n"
    "  pthread_t t; while (true) pthread_create(&t, &small,\n"
    "    [](void*) -> void* { sleep(99); return nullptr; }, nullptr);",
    "runtime_error",
    "started more than 1024 threads",
    needs=SECCOMP,
  ),
  # The evaluator's and other people's things.
  "channel_closed": _on_host(
    "close(3); while (true) sleep(9);", "runtime_error", "channel"
  ),
  "channel_nonsense": _on_host(
    'if (write(3, "nonsense", 8)) while (true) sleep(9);',
    "runtime_error",
    "channel",
  ),
  "all_descriptors_closed": _on_host(
    "for (int f = 0; f < 99; ++f) close(f);", "runtime_error", "channel"
  ),
  # From glibc 2.41 on fork blocks the signal that would name the call.
  "fork_bomb": _refused(
    "while (true) fork();", "ended by the sandbox", rule="starts_processes"
  ),
  "shell": _refused(
    'if (system("sleep 60 &")) return 9;',
    "ended by the sandbox",
    rule="starts_processes",
  ),
  "session": _refused(
    "if (setsid() > 0) while (true) sleep(9);", "setsid", rule="tampers"
  ),
  "suicide": _refused("kill(getpid(), SIGKILL);", "kill"),
  "patricide": _refused("kill(getppid(), SIGKILL);", "kill"),
  "massacre": _refused("kill(-1, SIGKILL);", "kill"),
  "network": _refused(
    "if (socket(AF_INET, SOCK_STREAM, 0)) {}",
    "socket",
    headers="sys/socket.h",
    rule="uses_network",
  ),
  "system_v_memory": _on_host(
    f"if (shmget({SYSTEM_V_KEY}, 4096, IPC_CREAT | 0600) >= 0) {{}}",
    "runtime_error",
    "shmget",
    headers="sys/shm.h",
    needs=SECCOMP,
    rule="tampers",
  ),
  # Right, with something left behind or tried in vain.
  "threads_left": _on_host(
    "pthread_t t; pthread_create(&t, nullptr,\n"
    "    [](void*) -> void* { while (true) {} return nullptr; }, nullptr);",
    "ok",
    rule="left_threads",
  ),
  "files_left": _on_host(
    'for (int k = 0; k < 9; ++k) fclose(fopen(("left" + std::string(k, "x"[0]))'
    '.c_str(), "w"));',
    "ok",
    headers="string",
    rule="opens_files",
  ),
  "shared_memory": _on_host(
    f'if (shm_open("/{SHARED_MEMORY}", O_CREAT | O_RDWR, 0600) >= 0) return 9;',
    "ok",
    headers="fcntl.h sys/mman.h",
    needs=LANDLOCK,
    rule="opens_files",
  ),
  "write_elsewhere": _on_host(
    'if (fopen("/tmp/jaxkern-storm", "w")) return 9;',
    "ok",
    needs=LANDLOCK,
    rule="opens_files",
  ),
  # What never runs.
  "compile_error": _in_kernel("y[i] = undeclared;", "compile_error", "undecl"),
  "link_error": _in_kernel(
    "y[i] = missing(i);",
    "link_error",
    "missing",
    before="__device__ float missing(int64_t);",
  ),
  "launch_error": _on_host(
    "scale<<<1, 2048, 0, stream>>>(x, y, n, a);\n"
    "  if (int e = cudaGetLastError()) return e;",
    "launch_error",
    "cudaErrorInvalidValue",
    before="__global__ void scale(const float*, float*, int64_t, float);",
  ),
}

# What only one of the devices finds.
DEVICE_FAULTS = {
  "cpu": {
    "divergent_barrier": _in_kernel(
      "if (i < 3) __syncthreads(); if (i < 9) __syncwarp(); y[0] = 1;",
      "runtime_error",
      "barrier",
    ),
  },
  "cuda": {
    "misaligned": _in_kernel(
      "*(volatile double*)((char*)y + 1) = 1;", "runtime_error"
    ),
    # On cpu the process has gone before it could be unloaded.
    "exit_when_unloaded": _on_host(
      "",
      "runtime_error",
      "exited with code 0",
      before="struct Last { ~Last() { _exit(0); } } last;",
    ),
  },
}
