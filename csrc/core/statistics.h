/// Medians, and how sure one can be of them.
#ifndef JAXKERN_CORE_STATISTICS_H_
#define JAXKERN_CORE_STATISTICS_H_

#include <vector>

namespace jaxkern {

/// 0 for no samples.
double Median(std::vector<double> samples);

struct Interval {
  double low = 0, high = 0;
};

/// About 95 % for the median, between two order statistics; whatever the
/// distribution. Fewer than 6 samples cannot give it: then all of them.
Interval MedianInterval(std::vector<double> samples);

/// The interval is narrower than 1 % of the median to either side.
bool IsPrecise(const std::vector<double>& samples);

/// Samples of two contestants that took turns.
struct Race {
  std::vector<double> own_us, baseline_us;
};

struct Speedup {
  double value = 0;
  double low = 0, high = 0;  ///< 95 %; both 0 with fewer than 6 pairs
};

/// The sum of the baseline's medians over that of the own ones. The interval is
/// a bootstrap of pairs, so that what slowed both does not widen it. The same
/// samples give the same numbers.
Speedup SpeedupOf(const std::vector<Race>& races);

}  // namespace jaxkern

#endif  // JAXKERN_CORE_STATISTICS_H_
