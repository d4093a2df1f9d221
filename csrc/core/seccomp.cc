#include "core/seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>
#include <vector>

#if defined(__x86_64__)
#define JAXKERN_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define JAXKERN_AUDIT_ARCH AUDIT_ARCH_AARCH64
#endif

namespace jaxkern {

#if !defined(JAXKERN_AUDIT_ARCH)

std::string RefuseSystemCalls(bool) { return "not for this processor"; }

#elif defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

std::string RefuseSystemCalls(bool) {
  return "the sanitizers need what it refuses";
}

#else

namespace {

struct Call {
  int number;
  const char* name;
};

#define CALL(name) {SYS_##name, #name}

// Fatal; the message names the call. clone is refused for processes only.
constexpr Call kFatal[] = {
    CALL(clone),
    CALL(kill),
    CALL(tgkill),
    CALL(rt_sigqueueinfo),
    CALL(rt_tgsigqueueinfo),
#ifdef SYS_fork
    CALL(fork),
    CALL(vfork),
#endif
    CALL(execve),
    CALL(execveat),
    CALL(setsid),
    CALL(setpgid),
    CALL(socket),
    CALL(socketpair),
    CALL(ptrace),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(unshare),
    CALL(setns),
    CALL(mount),
    CALL(umount2),
    CALL(pivot_root),
    CALL(chroot),
    CALL(shmget),
    CALL(msgget),
    CALL(semget),
    CALL(bpf),
    CALL(io_uring_setup),
    CALL(pidfd_send_signal),
    CALL(pidfd_getfd),
};
// The first of them, whose arguments decide.
constexpr size_t kConditional = 5;

// These fail with EPERM. Most act on files or processes that are not the
// candidate's: their metadata is nobody else's guard.
constexpr int kDenied[] = {
#ifdef SYS_chmod
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_mknod,
#endif
    SYS_fchmod,
    SYS_fchmodat,
    452,  // fchmodat2
    SYS_fchown,
    SYS_fchownat,
    SYS_utimensat,
    SYS_mknodat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_fsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_fremovexattr,
    SYS_truncate,
    SYS_tkill,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_setpriority,
    SYS_ioprio_set,
    SYS_sched_setparam,
    SYS_sched_setscheduler,
    SYS_sched_setattr,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_process_madvise,
    SYS_process_mrelease,
    SYS_kcmp,
    SYS_pidfd_open,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_mq_open,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fspick,
    SYS_mount_setattr,
};

// Where only a driver's processes get through: anonymous files evade the limit
// on memory, the others the rules on executable memory.
constexpr int kDeniedWithoutDriver[] = {SYS_memfd_create, 447 /*memfd_secret*/,
                                        SYS_pkey_mprotect, SYS_personality};

constexpr int kLastKnown = 462;  // mseal; the newest when this was written

/// Builds a program of classic BPF.
class Filter {
 public:
  static constexpr uint32_t kAllow = SECCOMP_RET_ALLOW;
  static constexpr uint32_t Fail(int error) {
    return SECCOMP_RET_ERRNO | static_cast<uint32_t>(error);
  }

  void LoadArchitecture() { Load(offsetof(seccomp_data, arch)); }
  void LoadNumber() { Load(offsetof(seccomp_data, nr)); }
  /// The low half, which is all that the arguments tested here have. Both
  /// architectures are little-endian.
  void LoadArgument(int index) {
    Load(offsetof(seccomp_data, args) + 8 * static_cast<unsigned>(index));
  }
  void Return(uint32_t action) { Add(BPF_RET | BPF_K, 0, 0, action); }
  void ReturnIfEqual(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, 0, 1, value);
    Return(action);
  }
  void ReturnUnlessEqual(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JEQ | BPF_K, 1, 0, value);
    Return(action);
  }
  void ReturnIfAbove(uint32_t value, uint32_t action) {
    Add(BPF_JMP | BPF_JGT | BPF_K, 0, 1, value);
    Return(action);
  }
  void ReturnUnlessSet(uint32_t bits, uint32_t action) {
    Add(BPF_JMP | BPF_JSET | BPF_K, 1, 0, bits);
    Return(action);
  }

  /// For one call, what `body` adds, which must end by returning.
  template <typename Body>
  void For(int number, Body body) {
    const size_t jump = program_.size();
    Add(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, static_cast<uint32_t>(number));
    body();
    program_[jump].jf = static_cast<uint8_t>(program_.size() - jump - 1);
  }

  sock_fprog program() {
    return {static_cast<unsigned short>(program_.size()), program_.data()};
  }

 private:
  void Load(size_t offset) {
    Add(BPF_LD | BPF_W | BPF_ABS, 0, 0, static_cast<uint32_t>(offset));
  }
  void Add(int code, uint8_t jt, uint8_t jf, uint32_t k) {
    program_.push_back({static_cast<uint16_t>(code), jt, jf, k});
  }

  std::vector<sock_filter> program_;
};

/// SIGSYS, with the call's place in kFatal for the handler.
uint32_t Fatal(size_t index) {
  return SECCOMP_RET_TRAP | static_cast<uint32_t>(index);
}

/// A signal may go to this process, unless it would end or stop it without a
/// trace: SIGKILL shall mean that the system did it.
void AddSignals(Filter* filter, size_t index, int signal_argument) {
  filter->For(kFatal[index].number, [&] {
    filter->LoadArgument(0);
    filter->ReturnUnlessEqual(static_cast<uint32_t>(getpid()), Fatal(index));
    filter->LoadArgument(signal_argument);
    filter->ReturnIfEqual(SIGKILL, Fatal(index));
    filter->ReturnIfEqual(SIGSTOP, Fatal(index));
    filter->Return(Filter::kAllow);
  });
}

/// Calls whose argument `argument` must not be one of `values`.
void AddRefusedValues(Filter* filter, int number, int argument,
                      std::initializer_list<unsigned> values) {
  filter->For(number, [&] {
    filter->LoadArgument(argument);
    for (unsigned value : values) {
      filter->ReturnIfEqual(value, Filter::Fail(EPERM));
    }
    filter->Return(Filter::kAllow);
  });
}

/// Code comes from libraries and stays as it is: no memory that was written is
/// executed, the loaded code that runs and times a candidate included.
void AddCodeIsConstant(Filter* filter) {
  filter->For(SYS_mprotect, [&] {
    filter->LoadArgument(2);
    filter->ReturnUnlessSet(PROT_EXEC, Filter::kAllow);
    filter->Return(Filter::Fail(EPERM));
  });
  filter->For(SYS_mmap, [&] {
    filter->LoadArgument(2);
    filter->ReturnUnlessSet(PROT_EXEC, Filter::kAllow);
    filter->LoadArgument(3);
    filter->ReturnUnlessSet(MAP_ANONYMOUS, Filter::kAllow);
    filter->Return(Filter::Fail(EPERM));
  });
}

/// Calls that name a process first: 0 or ourselves.
void AddOwnProcess(Filter* filter, int number) {
  filter->For(number, [&] {
    filter->LoadArgument(0);
    filter->ReturnIfEqual(0, Filter::kAllow);
    filter->ReturnUnlessEqual(static_cast<uint32_t>(getpid()),
                              Filter::Fail(EPERM));
    filter->Return(Filter::kAllow);
  });
}

Filter MakeFilter(bool driver) {
  Filter filter;
  filter.LoadArchitecture();
  filter.ReturnUnlessEqual(JAXKERN_AUDIT_ARCH, Filter::Fail(ENOSYS));
  filter.LoadNumber();
  filter.ReturnIfAbove(kLastKnown, Filter::Fail(ENOSYS));  // and the x32 ABI
  filter.For(SYS_clone, [&] {
    filter.LoadArgument(0);
    filter.ReturnUnlessSet(CLONE_THREAD, Fatal(0));
    filter.Return(Filter::kAllow);
  });
  // Its flags lie in memory; the C library falls back on clone.
  filter.ReturnIfEqual(SYS_clone3, Filter::Fail(ENOSYS));
  AddSignals(&filter, 1, 1);  // kill, rt_sigqueueinfo: process, signal
  AddSignals(&filter, 2, 2);  // tgkill and the like: process, thread, signal
  AddSignals(&filter, 3, 1);
  AddSignals(&filter, 4, 2);
  for (size_t i = kConditional; i < std::size(kFatal); ++i) {
    filter.ReturnIfEqual(static_cast<uint32_t>(kFatal[i].number), Fatal(i));
  }
  for (int number : kDenied) {
    filter.ReturnIfEqual(static_cast<uint32_t>(number), Filter::Fail(EPERM));
  }
  if (!driver) {
    for (int number : kDeniedWithoutDriver) {
      filter.ReturnIfEqual(static_cast<uint32_t>(number), Filter::Fail(EPERM));
    }
    AddOwnProcess(&filter, SYS_sched_setaffinity);
    AddCodeIsConstant(&filter);
  }
  AddOwnProcess(&filter, SYS_prlimit64);
  // Signals sent by way of a descriptor's owner; typing into a terminal.
  AddRefusedValues(&filter, SYS_fcntl, 1, {F_SETOWN, 15 /*F_SETOWN_EX*/, 10});
  AddRefusedValues(&filter, SYS_ioctl, 1, {0x8901, 0x8902, TIOCSTI, TIOCLINUX});
  AddRefusedValues(&filter, SYS_prctl, 0, {PR_SET_PDEATHSIG});
  filter.Return(Filter::kAllow);
  return filter;
}

/// Says on stderr which call it was, and dies of SIGSYS.
void OnRefused(int, siginfo_t* info, void*) {
  const size_t index = static_cast<size_t>(info->si_errno);
  const char* name = index < std::size(kFatal) ? kFatal[index].name : "another";
  const auto part = [](const char* text) {
    return iovec{const_cast<char*>(text), std::strlen(text)};
  };
  const iovec parts[] = {part("a kernel may not make the system call "),
                         part(name), part("\n")};
  if (writev(STDERR_FILENO, parts, 3) < 0) _exit(1);
  signal(SIGSYS, SIG_DFL);
  raise(SIGSYS);  // delivered once this handler returns
}

}  // namespace

std::string RefuseSystemCalls(bool driver) {
  struct sigaction action = {};
  action.sa_sigaction = OnRefused;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSYS, &action, nullptr);
  Filter filter = MakeFilter(driver);
  const sock_fprog program = filter.program();
  const long failed = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                          ? -1
                          : syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                                    SECCOMP_FILTER_FLAG_TSYNC, &program);
  if (failed == 0) return "";
  return failed > 0 ? "a thread refuses" : std::strerror(errno);
}

#endif

}  // namespace jaxkern
