#include "core/inspect.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "core/elf_symbols.h"
#include "core/entry.h"
#include "core/memory_file.h"

namespace jaxkern {
namespace {

/// Names are whole, or beginnings if they end with *; a function's other names
/// (PlainName) are meant, too.
struct Rule {
  const char* name;
  std::vector<std::string> symbols;
};

const std::vector<Rule>& ImportRules() {
  static const std::vector<Rule> rules = {
      {"loads_code",
       {"dlopen", "dlmopen", "dlsym", "dlvsym", "dladdr", "dladdr1", "dlinfo",
        "dl_iterate_phdr", "__libc_dlopen_mode", "nvrtc*", "cuModule*",
        "cuLibrary*", "cuLink*", "cuGetProcAddress*",
        "cudaGetDriverEntryPoint*", "cudaLibrary*"}},
      {"calls_library",
       {"cublas*", "cudnn*", "cufft*", "curand*", "cusparse*", "cusolver*",
        "cutensor*", "nccl*", "nvjpeg*", "npp*", "cblas_*"}},
      {"starts_processes",
       {"fork", "vfork", "clone", "clone3", "daemon", "system", "popen",
        "execl", "execle", "execlp", "execv", "execve", "execvp", "execvpe",
        "execveat", "fexecve", "posix_spawn", "posix_spawnp", "_IO_proc_open"}},
      {"uses_network",
       {"socket", "socketpair", "connect", "bind", "listen", "accept",
        "accept4", "send", "sendto", "sendmsg", "sendmmsg", "recv", "recvfrom",
        "recvmsg", "recvmmsg", "getaddrinfo", "gethostbyname*"}},
      {"opens_files",
       {"open",
        "open64",
        "openat",
        "openat64",
        "open_by_handle_at",
        "creat",
        "creat64",
        "fopen",
        "fopen64",
        "freopen",
        "freopen64",
        "fdopen",
        "opendir",
        "fdopendir",
        "scandir*",
        "nftw*",
        "ftw*",
        "glob*",
        "shm_open",
        "memfd_create",
        "mkstemp*",
        "mkdtemp",
        "unlink",
        "unlinkat",
        "rename*",
        "symlink*",
        "link",
        "linkat",
        "readlink*",
        "_ZNSt14basic_ifstream*",
        "_ZNSt14basic_ofstream*",
        "_ZNSt13basic_fstream*",
        "_ZNSt13basic_filebuf*",
        "_ZNSt10filesystem*"}},
      // What a process does to itself or others, past the interfaces above.
      {"tampers",
       {"syscall",
        "ptrace",
        "prctl",
        "process_vm_readv",
        "process_vm_writev",
        "mprotect",
        "pkey_mprotect",
        "mmap",
        "mmap64",
        "mremap",
        "setpgid",
        "setsid",
        "setrlimit*",
        "read",
        "pread*",
        "pwrite*",
        "dup",
        "dup2",
        "dup3",
        "fcntl",
        "fcntl64",
        "ioctl"}},
  };
  return rules;
}

/// Functions that timing and supervision rely on, or that a candidate's own
/// calls are counted by.
const Rule& ExportRule() {
  static const Rule rule = {"replaces_runtime",
                            {"cudaEvent*",
                             "cudaDeviceSynchronize*",
                             "cudaStreamSynchronize*",
                             "cudaStreamCreate*",
                             "cudaStreamWaitEvent*",
                             "cudaMalloc*",
                             "cudaFree*",
                             "cudaMemcpy*",
                             "cudaMemset*",
                             "cudaGetLastError",
                             "cudaPeekAtLastError",
                             "cudaLaunch*",
                             "cudaGraph*",
                             "cudaGetDevice*",
                             "cudaSetDevice*",
                             "cudaDeviceReset*",
                             "__cuda*",
                             "jaxkern_*",
                             "clock_gettime",
                             "gettimeofday",
                             "clock",
                             "time",
                             "times",
                             "nanosleep",
                             "_ZNSt6chrono3_V2*",
                             "memcpy",
                             "memmove",
                             "memset",
                             "memcmp",
                             "malloc",
                             "free",
                             "calloc",
                             "realloc",
                             "exit",
                             "_exit",
                             "abort",
                             "read",
                             "write",
                             "sendmsg",
                             "recvmsg",
                             "recv",
                             "send",
                             "poll",
                             "mmap",
                             "munmap",
                             "dlopen",
                             "dlsym",
                             "dlclose",
                             "pthread_create",
                             "getrandom",
                             "opendir",
                             "readdir"}};
  return rule;
}

const char* const kLibraries[] = {
    "libc.so",      "libm.so",       "libstdc++.so", "libgcc_s.so",
    "libcudart.so", "libpthread.so", "librt.so",     "libdl.so",
    "ld-linux",     "libc++.so",     "libc++abi.so", "libunwind.so",
    "libclang_rt.", "libasan.so",    "libubsan.so",  "libtsan.so",
};

/// The function behind another of its names: fopen for _IO_fopen, read for
/// __read_chk (-D_FORTIFY_SOURCE), open for __open64_2 or __libc_open64.
std::string PlainName(std::string name) {
  for (const std::string prefix : {"__libc_", "_IO_file_", "_IO_", "__"}) {
    if (name.rfind(prefix, 0) != 0) continue;
    name.erase(0, prefix.size());
    for (const std::string suffix : {"_chk", "_2", "_nocancel"}) {
      const size_t kept = name.size() - std::min(name.size(), suffix.size());
      if (name.compare(kept, std::string::npos, suffix) == 0) name.erase(kept);
    }
    return name;
  }
  return name;
}

bool Matches(const std::string& name, const std::string& pattern) {
  if (pattern.back() != '*') return name == pattern;
  return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) ==
         0;
}

bool Breaks(const Rule& rule, const std::string& symbol) {
  const std::string plain = PlainName(symbol);
  return std::any_of(rule.symbols.begin(), rule.symbols.end(),
                     [&](const std::string& pattern) {
                       return Matches(symbol, pattern) ||
                              Matches(plain, pattern);
                     });
}

bool IsAllowedLibrary(const std::string& name) {
  return std::any_of(
      std::begin(kLibraries), std::end(kLibraries),
      [&](const char* start) { return name.rfind(start, 0) == 0; });
}

std::optional<Offence> Judge(const ElfSymbols& symbols) {
  for (const std::string& name : symbols.imported) {
    for (const Rule& rule : ImportRules()) {
      if (Breaks(rule, name)) return Offence{rule.name, "imports " + name};
    }
  }
  for (const std::string& name : symbols.exported) {
    if (name != kEntrySymbol && Breaks(ExportRule(), name)) {
      return Offence{ExportRule().name, "defines " + name};
    }
  }
  for (const std::string& name : symbols.needed) {
    if (!IsAllowedLibrary(name)) {
      return Offence{"calls_library", "needs " + name};
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<Offence> Inspect(int fd) {
  struct stat file = {};
  if (fstat(fd, &file) != 0) return std::nullopt;
  const Mapping mapping(fd, static_cast<size_t>(file.st_size),
                        /*writable=*/false);
  const auto symbols = ReadElfSymbols(mapping.data, mapping.bytes);
  // What the loader can load has symbols; it will say what is wrong with this.
  if (!symbols) return Offence{"tampers", "is no well-formed library"};
  return Judge(*symbols);
}

}  // namespace jaxkern
