#include "core/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/schedule.h"

namespace jaxkern {
namespace {

constexpr size_t kFewest = 6;  // 1 - 2^-5: the least whose range is 95 %
constexpr int kResamples = 400;
constexpr double kPrecision = 0.01;

double SumOfMedians(const std::vector<Race>& races,
                    std::vector<double> Race::* samples) {
  double sum = 0;
  for (const Race& race : races) sum += Median(race.*samples);
  return sum;
}

double Ratio(const std::vector<Race>& races) {
  const double own = SumOfMedians(races, &Race::own_us);
  return own > 0 ? SumOfMedians(races, &Race::baseline_us) / own : 0;
}

size_t Pairs(const Race& race) {
  return std::min(race.own_us.size(), race.baseline_us.size());
}

Race Resample(const Race& race, uint64_t* state) {
  Race drawn;
  const size_t pairs = Pairs(race);
  for (size_t i = 0; i < pairs; ++i) {
    const size_t pick = NextBits(state) % pairs;
    drawn.own_us.push_back(race.own_us[pick]);
    drawn.baseline_us.push_back(race.baseline_us[pick]);
  }
  return drawn;
}

}  // namespace

double Median(std::vector<double> samples) {
  if (samples.empty()) return 0;
  const auto middle = samples.begin() + samples.size() / 2;
  std::nth_element(samples.begin(), middle, samples.end());
  if (samples.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(samples.begin(), middle)) / 2;
}

Interval MedianInterval(std::vector<double> samples) {
  if (samples.empty()) return {};
  std::sort(samples.begin(), samples.end());
  const double n = static_cast<double>(samples.size());
  // Ranks from the binomial distribution's normal approximation.
  const double reach = 1.96 * std::sqrt(n) / 2;
  const double last = n - 1;
  const double low = std::clamp(std::floor(n / 2 - reach), 0.0, last);
  return {samples[static_cast<size_t>(low)],
          samples[static_cast<size_t>(last - low)]};
}

bool IsPrecise(const std::vector<double>& samples) {
  const Interval interval = MedianInterval(samples);
  return interval.high - interval.low <= 2 * kPrecision * Median(samples);
}

Speedup SpeedupOf(const std::vector<Race>& races) {
  Speedup speedup;
  speedup.value = Ratio(races);
  for (const Race& race : races) {
    if (Pairs(race) < kFewest) return speedup;
  }
  if (speedup.value == 0) return speedup;
  std::vector<double> ratios;
  uint64_t state = 0;
  for (int i = 0; i < kResamples; ++i) {
    std::vector<Race> drawn;
    for (const Race& race : races) drawn.push_back(Resample(race, &state));
    ratios.push_back(Ratio(drawn));
  }
  std::sort(ratios.begin(), ratios.end());
  const size_t tail = kResamples / 40;  // 2.5 %
  speedup.low = std::min(ratios[tail], speedup.value);
  speedup.high = std::max(ratios[kResamples - 1 - tail], speedup.value);
  return speedup;
}

}  // namespace jaxkern
