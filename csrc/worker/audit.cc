#include "worker/audit.h"

#include <algorithm>
#include <cstdio>

#include "worker/judge.h"

namespace jaxkern {
namespace {

// A synchronise that finds nothing to wait for takes microseconds; the least of
// all audits counts, so that a busy host accuses nobody.
constexpr double kLateUs = 50;
constexpr double kWallUs = 150;
constexpr double kHostUs = 200;

}  // namespace

Event Contradiction(const Measurement& least) {
  char text[160];
  if (least.late_us > kLateUs + least.device_us / 4) {
    std::snprintf(
        text, sizeof text,
        "the device was still busy %.0f us after the given stream had "
        "finished, which took %.1f us",
        least.late_us, least.device_us);
  } else if (least.wall_us > kWallUs + 2 * least.device_us) {
    std::snprintf(text, sizeof text,
                  "launches took %.0f us on the wall clock and %.1f us between "
                  "the events",
                  least.wall_us, least.device_us);
  } else if (least.host_us > kHostUs + least.busy_us) {
    std::snprintf(text, sizeof text,
                  "launches spent %.0f us of processor time on the host and "
                  "%.0f us in kernels",
                  least.host_us, least.busy_us);
    return Cheating("host_work", text);
  } else {
    return Event();
  }
  return Cheating("hidden_work", text);
}

Measurement Least(const Measurement& a, const Measurement& b) {
  Measurement least = a;
  least.device_us = std::max(a.device_us, b.device_us);
  least.wall_us = std::min(a.wall_us, b.wall_us);
  least.late_us = std::min(a.late_us, b.late_us);
  least.host_us = std::min(a.host_us, b.host_us);
  least.busy_us = std::max(a.busy_us, b.busy_us);
  return least;
}

}  // namespace jaxkern
