#include "core/selection.h"

#include <algorithm>
#include <numeric>

#include "core/schedule.h"

namespace jaxkern {

std::vector<size_t> BySize(const Problem& problem) {
  std::vector<size_t> order(problem.cases.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return Bytes(problem.cases[a]) < Bytes(problem.cases[b]);
  });
  return order;
}

Case AsChecked(const Problem& problem, size_t index, uint64_t seed) {
  Case c = problem.cases[index];
  Schedule schedule(seed, static_cast<int>(index), c.variants());
  static_cast<Variant&>(c) = Variant(c.variant(schedule.Variant(0)));
  c.others.clear();
  return c;
}

}  // namespace jaxkern
