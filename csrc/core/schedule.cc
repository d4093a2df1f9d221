#include "core/schedule.h"

#include <sys/random.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace jaxkern {

uint64_t NextBits(uint64_t* state) {
  uint64_t bits = (*state += 0x9E3779B97F4A7C15ULL);
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBULL;
  return bits ^ (bits >> 31);
}

uint64_t SecretBits() {
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, 0) == sizeof bits) return bits;
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

namespace {

template <typename T>
void Shuffle(uint64_t* state, std::vector<T>* all) {
  for (size_t i = all->size(); i > 1; --i) {
    std::swap((*all)[i - 1], (*all)[NextBits(state) % i]);
  }
}

}  // namespace

std::vector<size_t> RoundOrder(uint64_t seed, size_t contestants,
                               size_t round) {
  std::vector<size_t> order(contestants);
  std::iota(order.begin(), order.end(), size_t{0});
  Shuffle(&seed, &order);
  const size_t first = round / 2 % std::max<size_t>(contestants, 1);
  std::rotate(order.begin(), order.begin() + static_cast<long>(first),
              order.end());
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

Schedule::Schedule(uint64_t seed, int case_index, int variants)
    : state_(seed), order_(static_cast<size_t>(variants)) {
  state_ = NextBits(&state_) + static_cast<uint64_t>(case_index);
  std::iota(order_.begin(), order_.end(), 0);
  Shuffle(&state_, &order_);
}

int Schedule::Variant(int launch) {
  Extend(launch);
  return variants_[static_cast<size_t>(launch)];
}

bool Schedule::IsFresh(int launch) {
  Extend(launch);
  return fresh_[static_cast<size_t>(launch)];
}

void Schedule::Extend(int launch) {
  for (size_t i = variants_.size(); i <= static_cast<size_t>(launch); ++i) {
    const bool fresh = seen_ < order_.size() && (i == 0 || i % 3 == 1);
    fresh_.push_back(fresh);
    variants_.push_back(fresh ? order_[seen_++]
                              : order_[NextBits(&state_) % seen_]);
  }
}

}  // namespace jaxkern
