#include "core/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

namespace jaxkern {
namespace {

constexpr int kShown = 4;
constexpr int64_t kChunk = 4096;

template <typename T>
T Load(const char* data, int64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

/// Widening to double is exact for every floating type here.
void Widen(Dtype dtype, const char* data, int64_t n, double* wide) {
  switch (dtype) {
    case Dtype::kFloat64:
      std::memcpy(wide, data, n * sizeof(double));
      break;
    case Dtype::kFloat32:
      for (int64_t i = 0; i < n; ++i) wide[i] = Load<float>(data, i);
      break;
    case Dtype::kFloat16:
      for (int64_t i = 0; i < n; ++i) {
        wide[i] = HalfToFloat(Load<uint16_t>(data, i));
      }
      break;
    default:  // bfloat16; integers do not come here
      for (int64_t i = 0; i < n; ++i) {
        wide[i] = Bfloat16ToFloat(Load<uint16_t>(data, i));
      }
  }
}

int64_t LoadInteger(Dtype dtype, const char* data, int64_t index) {
  switch (dtype) {
    case Dtype::kInt64:
      return Load<int64_t>(data, index);
    case Dtype::kInt32:
      return Load<int32_t>(data, index);
    case Dtype::kInt8:
      return Load<int8_t>(data, index);
    default:  // uint8, bool
      return Load<uint8_t>(data, index);
  }
}

std::string Index(const Shape& shape, int64_t flat) {
  std::string text;
  for (size_t axis = shape.size(); axis-- > 0;) {
    text =
        std::to_string(flat % shape[axis]) + (text.empty() ? "" : ", ") + text;
    flat /= shape[axis];
  }
  return "[" + text + "]";
}

std::string Number(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.7g", value);
  return text;
}

std::string Number(int64_t value) { return std::to_string(value); }

bool IsPoison(const char* element, Dtype dtype) {
  const char poison = static_cast<char>(PoisonByte(dtype));
  const char* end = element + Info(dtype).bytes;
  return std::all_of(element, end, [&](char c) { return c == poison; });
}

/// Collects mismatches; knows the array they are of.
struct Collector {
  const std::string& name;
  Dtype dtype;
  const Shape& shape;
  const char* got;
  Comparison result = {};

  void AddError(double error, double expected) {
    result.max_abs_error = std::max(result.max_abs_error, error);
    if (expected != 0 && error > result.max_rel_error * std::abs(expected)) {
      result.max_rel_error = error / std::abs(expected);
    }
  }

  template <typename T>
  void Add(int64_t index, bool nonfinite, T seen, T wanted) {
    const bool untouched = IsPoison(got + index * Info(dtype).bytes, dtype);
    ++result.mismatches;
    result.untouched += untouched;
    result.nonfinite += nonfinite && !untouched;
    if (result.mismatches > kShown) return;
    result.first += "  " + name + Index(shape, index) + " = " +
                    (untouched ? "never written" : Number(seen)) +
                    ", expected " + Number(wanted) + "\n";
  }
};

void CompareFloating(const char* expected, const Tolerance& tolerance,
                     Collector* to) {
  double got_wide[kChunk], expected_wide[kChunk];
  const size_t bytes = Info(to->dtype).bytes;
  for (int64_t start = 0; start < to->result.elements; start += kChunk) {
    const int64_t n = std::min(kChunk, to->result.elements - start);
    // The same bits are the same kind and value.
    if (std::memcmp(to->got + start * bytes, expected + start * bytes,
                    static_cast<size_t>(n) * bytes) == 0) {
      continue;
    }
    Widen(to->dtype, to->got + start * bytes, n, got_wide);
    Widen(to->dtype, expected + start * bytes, n, expected_wide);
    for (int64_t i = 0; i < n; ++i) {
      const double g = got_wide[i], e = expected_wide[i];
      if (std::isfinite(g) && std::isfinite(e)) {
        const double error =
            std::min(std::abs(g - e), std::numeric_limits<double>::max());
        to->AddError(error, e);
        if (error <= tolerance.atol + tolerance.rtol * std::abs(e)) continue;
      } else if (g == e || (std::isnan(g) && std::isnan(e))) {
        continue;
      }
      to->Add(start + i, std::isfinite(e) && !std::isfinite(g), g, e);
    }
  }
}

void CompareIntegers(const char* expected, Collector* to) {
  const size_t bytes = Info(to->dtype).bytes;
  if (std::memcmp(to->got, expected, to->result.elements * bytes) == 0) return;
  for (int64_t i = 0; i < to->result.elements; ++i) {
    const int64_t g = LoadInteger(to->dtype, to->got, i);
    const int64_t e = LoadInteger(to->dtype, expected, i);
    if (g == e) continue;
    to->AddError(std::abs(static_cast<double>(g) - static_cast<double>(e)),
                 static_cast<double>(e));
    to->Add(i, false, g, e);
  }
}

}  // namespace

int PoisonByte(Dtype dtype) { return Info(dtype).floating ? 0xFF : 0xA5; }

Comparison Compare(const std::string& name, Dtype dtype, const Shape& shape,
                   const char* got, const char* expected,
                   const Tolerance& tolerance) {
  Collector collector{name, dtype, shape, got};
  collector.result.elements = Elements(shape);
  if (collector.result.elements == 0) return collector.result;
  if (Info(dtype).floating) {
    CompareFloating(expected, tolerance, &collector);
  } else {
    CompareIntegers(expected, &collector);
  }
  return collector.result;
}

}  // namespace jaxkern
