/// Which variant of a case's inputs each launch gets.
#ifndef JAXKERN_CORE_SCHEDULE_H_
#define JAXKERN_CORE_SCHEDULE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace jaxkern {

/// A stream of well mixed bits; advances *state (splitmix64).
uint64_t NextBits(uint64_t* state);

/// A number that nobody can guess.
uint64_t SecretBits();

/// The order of contestants in a round. A seed decides the first one; in the
/// rounds after it each comes equally often in each place, and every second
/// order is the one before it backwards.
std::vector<size_t> RoundOrder(uint64_t seed, size_t contestants, size_t round);

/// A seed decides the order of a case's variants. The first two launches see
/// two of them; another new one enters at launch 4, 7, 10 and so on, and
/// launches in between repeat a seen one: what a candidate remembers of earlier
/// inputs is wrong for the next, and what it takes for new ones is comparable
/// with what it takes for known ones.
class Schedule {
 public:
  Schedule(uint64_t seed, int case_index, int variants);

  int Variant(int launch);
  /// True if no earlier launch had these contents.
  bool IsFresh(int launch);

 private:
  void Extend(int launch);

  uint64_t state_;
  std::vector<int> order_;     // of the variants' first launches
  std::vector<int> variants_;  // by launch
  std::vector<bool> fresh_;    // by launch
  size_t seen_ = 0;
};

}  // namespace jaxkern

#endif  // JAXKERN_CORE_SCHEDULE_H_
