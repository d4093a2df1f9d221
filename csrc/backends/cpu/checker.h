/// Watches every access of a checked build (see include/jaxkern_cpu/checker.h)
/// and ends the kernel at its first fault: an access outside a buffer, a race,
/// a misaligned vector, a write to an input. What may be a fault but need not
/// be is a hint, which counts only if nothing else is found.
///
/// Texts are as core/finding.h says: the evaluator, which has the library's
/// debug information, fills in the lines.
///
/// Checked kernels run on one OS thread.
#ifndef JAXKERN_BACKENDS_CPU_CHECKER_H_
#define JAXKERN_BACKENDS_CPU_CHECKER_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "backends/cpu/check_memory.h"
#include "backends/cpu/check_order.h"
#include "backends/cpu/include/jaxkern_cpu/checker_abi.h"
#include "core/finding.h"

namespace jaxkern {

/// "{F:1a2b}" and "{L:1a2b}".
std::string Place(uint32_t pc);
std::string Line(uint32_t pc);

class Checker {
 public:
  /// Null unless a checked library was loaded into this process.
  static Checker* Get() { return active_; }
  static void TurnOn(const void* inside);

  // Memory, as host code sees it.
  void* Allocate(size_t bytes, bool host, const void* caller);
  /// False, with a finding, when there is no such buffer.
  bool Free(void* pointer, const void* caller);
  void Argument(const void* buffer, const char* name, size_t element,
                bool input);
  void Shape(const volatile void* array, size_t element, const size_t* extents,
             int rank);
  void Expose(const void* pointer, size_t bytes);
  void MarkInitialised(const void* pointer, size_t bytes);
  /// False, with a finding, if `call` must not touch these bytes.
  bool HostCall(const char* call, const void* pointer, size_t bytes, bool write,
                const void* caller);
  void* dynamic_shared() const {
    return reinterpret_cast<void*>(dynamic_->begin);
  }
  void NameDynamicShared(const char* name, size_t element) {
    dynamic_->name = name;
    dynamic_->element = element <= 16 ? element : 0;  // else a row
  }

  // The course of a kernel.
  void StartLaunch(size_t shared, const void* frame);
  void StartBlock() { order_.StartBlock(); }
  void BlockBarrier() { order_.BlockBarrier(); }
  void WarpBarrier(unsigned warp, unsigned lanes) {
    order_.WarpBarrier(warp, lanes);
  }
  void Fence() { order_.Synchronise(Thread()); }
  /// Before the running thread waits or ends: its last write, looked at again.
  void Settle() {
    if (pending_.bytes != 0) SettlePending();
  }

  void Access(const volatile void* address, size_t bytes, int how,
              const void* caller, const void* frame);
  void Overflow(const char* operation, const void* data, uintptr_t left,
                uintptr_t right, const void* caller);
  void Index(const void* data, uintptr_t index, const void* caller);

  /// What was found besides faults, with its mark; "" if nothing.
  std::string Hint() const;
  /// "thread (1,0,0) of block (2,0,0)": who runs now.
  std::string Who() const;

 private:
  /// One access under examination.
  struct Now {
    uintptr_t address;
    size_t bytes;
    int how;
    uint32_t pc;
    unsigned thread;
    bool write() const { return (how & JAXKERN_WRITE) != 0; }
    bool atomic() const { return (how & JAXKERN_ATOMIC) != 0; }
    bool reads() const { return !write() || atomic(); }
  };
  /// A write that conflicts with an earlier access, unless it changes nothing:
  /// that threads store the same value in one place is common and harmless.
  struct Pending {
    uintptr_t address;
    size_t bytes = 0;
    unsigned char before[16];
    std::string finding;
  };
  enum Rank { kNothing, kAtomicRace, kUninitialised, kOverflow, kIndex };

  explicit Checker(const void* inside);
  unsigned Thread() const;
  uint32_t Pc(const void* caller) const {
    return uint32_t(uintptr_t(caller) - 1 - base_);
  }
  bool IsOwnStack(uintptr_t address, const void* frame) const;
  /// When a kernel is given up as endless.
  void LookAtClock(const Now& now);
  void Outside(const Now& now);
  void Inside(Region* region, const Now& now);
  void Touch(Region* region, Cell* cell, uintptr_t address, const Now& now);
  void AgainstWrite(Region* region, const Cell& cell, uintptr_t address,
                    const Now& now);
  void AgainstUpdate(Region* region, const Cell& cell, uintptr_t address,
                     const Now& now);
  void AgainstReads(Region* region, const Cell& cell, uintptr_t address,
                    const Now& now);
  void Remember(Cell* cell, const Now& now);
  void Suspect(const Now& now, const std::string& race);
  void SettlePending();
  void Find(const std::string& text);
  void Suggest(Rank rank, const std::string& text);
  std::string OutOfBounds(const Region& region, const Now& now) const;
  std::string Race(const Region& region, uintptr_t address,
                   const Record& earlier, bool earlier_write,
                   const Now& now) const;
  std::string Name(const Region& region, uintptr_t address, size_t bytes) const;
  std::string WhoDid(const Record& record) const;

  static Checker* active_;

  uintptr_t base_ = 0;
  CheckMemory memory_;
  Order order_;
  Region* dynamic_ = nullptr;
  uintptr_t host_stack_ = 0;   // kernels' arguments lie above
  uintptr_t others_page_ = 0;  // in use, but not by what we know
  int64_t until_ns_ = 0;       // 0: for ever
  uint32_t accesses_ = 0;
  Pending pending_;
  Rank rank_ = kNothing;
  std::string hint_, overflow_;
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CPU_CHECKER_H_
