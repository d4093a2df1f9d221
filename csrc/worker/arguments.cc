#include "worker/arguments.h"

#include <algorithm>
#include <cstring>

#include "core/schedule.h"

namespace jaxkern {
namespace {

// Wide enough for what a block too many writes, narrow enough to look at after
// every launch.
constexpr size_t kZone = size_t{16} << 10;
// As a number of any type it is large: reading it spoils a result too.
constexpr int kZoneByte = 0xFB;
// Arrays are looked at in pieces: a large one needs no second copy.
constexpr size_t kPiece = size_t{1} << 20;

bool IsArray(const JobValue& value) {
  return value.kind != Argument::Kind::kAttribute;
}

bool IsOutput(const JobValue& value) {
  return value.kind == Argument::Kind::kOutput;
}

bool IsZoneByte(char byte) { return byte == static_cast<char>(kZoneByte); }

/// Flips those bits of normal numbers at random; takes as long if there are
/// none.
template <typename Word>
void FlipBits(Word last, Word exponent, uint64_t* bits,
              std::vector<char>* array) {
  uint64_t drawn = 0;
  int left = 0;  // words that it is good for
  for (size_t at = 0; at + sizeof(Word) <= array->size(); at += sizeof(Word)) {
    Word word;
    std::memcpy(&word, array->data() + at, sizeof word);
    const Word shown = word & exponent;
    if (shown == 0 || shown == exponent) continue;
    if (left == 0) {
      drawn = NextBits(bits);
      left = 4;
    }
    word ^= static_cast<Word>(drawn & last);
    drawn >>= 16;
    --left;
    std::memcpy(array->data() + at, &word, sizeof word);
  }
}

void FlipLastBits(Dtype dtype, bool anew, uint64_t* bits,
                  std::vector<char>* array) {
  switch (dtype) {
    case Dtype::kFloat64:
      return FlipBits<uint64_t>(anew ? 0xFFFF : 0, 0x7FF0000000000000, bits,
                                array);
    case Dtype::kFloat32:
      return FlipBits<uint32_t>(anew ? 0xFF : 0, 0x7F800000, bits, array);
    case Dtype::kFloat16:
      return FlipBits<uint16_t>(anew ? 1 : 0, 0x7C00, bits, array);
    case Dtype::kBfloat16:
      return FlipBits<uint16_t>(anew ? 1 : 0, 0x7F80, bits, array);
    default:
      return;
  }
}

/// Of the bytes behind an array, or before it: how many, and how far away.
std::string DescribeOverrun(const std::vector<char>& zone, bool after,
                            const std::string& name) {
  const auto written = std::find_if_not(zone.begin(), zone.end(), IsZoneByte);
  const auto last =
      std::find_if_not(zone.rbegin(), zone.rend(), IsZoneByte).base();
  const auto count =
      std::count_if(written, last, [](char b) { return !IsZoneByte(b); });
  const auto distance = after ? written - zone.begin() : zone.end() - last;
  return "wrote " + std::to_string(count) + " bytes " +
         (after ? "past the end of " : "before the start of ") + name +
         (distance == 0 ? "" : ", " + std::to_string(distance) + " bytes away");
}

}  // namespace

Arguments::Arguments(Device* device, const JobCase& c, Layout layout,
                     size_t sets)
    : device_(device),
      case_(c),
      zone_(layout == Layout::kGuarded ? kZone : 0),
      blocks_(c.values.size(), nullptr),
      sets_(sets) {
  for (Set& set : sets_) {
    for (const JobValue& value : c.values) {
      set.attributes.push_back(value.attribute);
    }
    set.buffers.resize(c.values.size(), nullptr);
    for (size_t i = 0; i < c.values.size(); ++i) {
      set.pointers.push_back(
          IsArray(c.values[i])
              ? static_cast<void*>(&set.buffers[i])
              : std::visit([](auto& v) { return static_cast<void*>(&v); },
                           set.attributes[i]));
    }
  }
}

Arguments::~Arguments() {
  for (void* block : blocks_) {
    if (block != nullptr) device_->Free(block);
  }
}

size_t Arguments::Bytes(const JobCase& c) {
  size_t bytes = 0;
  for (const JobValue& value : c.values) {
    if (IsArray(value)) bytes += Aligned(value.bytes + 2 * kZone);
  }
  return bytes;
}

Pieces Arguments::Arrays(size_t argument, size_t sets) const {
  const size_t bytes = case_.values[argument].bytes;
  return {static_cast<char*>(blocks_[argument]) + zone_, bytes,
          Aligned(bytes + 2 * zone_), sets};
}

DeviceError Arguments::Allocate() {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const JobValue& value = case_.values[i];
    if (!IsArray(value)) continue;
    const size_t bytes =
        zone_ == 0 ? value.bytes : sets() * Aligned(value.bytes + 2 * zone_);
    DeviceError error = device_->Allocate(bytes, &blocks_[i]);
    if (error.code == 0 && zone_ > 0) {
      error = device_->Fill(blocks_[i], kZoneByte, bytes);
    }
    if (error.code != 0) return error;
    const Pieces arrays = Arrays(i, sets());
    for (size_t s = 0; s < sets(); ++s) {
      sets_[s].buffers[i] = arrays.at(s);
      device_->Expose(arrays.at(s), value.bytes);
    }
  }
  return {};
}

Pieces Arguments::Zones(size_t argument, bool after) const {
  const Pieces arrays = Arrays(argument, sets());
  return {after ? arrays.first + arrays.bytes : arrays.first - kZone, kZone,
          arrays.stride, arrays.count};
}

DeviceError Arguments::Fill(const Inputs& inputs,
                            const std::vector<int>& variants) {
  DeviceError error;
  size_t input = 0;
  for (size_t i = 0; i < blocks_.size() && error.code == 0; ++i) {
    const JobValue& value = case_.values[i];
    if (!IsArray(value)) continue;
    const Pieces arrays = Arrays(i, variants.size());
    if (!IsOutput(value)) {
      error = CopyInputs(arrays, inputs, variants, input++);
    } else if (value.bytes > 0 && zone_ > 0) {
      error = device_->FillPieces(arrays, value.poison);
    }
  }
  return error;
}

DeviceError Arguments::CopyInputs(const Pieces& arrays, const Inputs& inputs,
                                  const std::vector<int>& variants,
                                  size_t input) {
  if (arrays.bytes == 0) return {};
  std::vector<const char*> from;
  for (const int variant : variants) {
    from.push_back(inputs.device(variant, input));
  }
  if (from[0] != nullptr) return device_->CopyPiecesWithin(arrays, from);
  DeviceError error;
  for (size_t s = 0; s < variants.size() && error.code == 0; ++s) {
    error = device_->CopyIn(arrays.at(s), inputs.host(variants[s], input),
                            arrays.bytes);
  }
  return error;
}

DeviceError Arguments::FillByHost(const Inputs& inputs, int variant, bool anew,
                                  uint64_t* bits) {
  DeviceError error = Fill(inputs, {variant});
  size_t input = 0;
  for (size_t i = 0; i < blocks_.size() && error.code == 0; ++i) {
    const JobValue& value = case_.values[i];
    if (value.kind != Argument::Kind::kInput) continue;
    const char* from = inputs.host(variant, input++);
    if (value.bytes == 0) continue;
    std::vector<char> array(from, from + value.bytes);
    FlipLastBits(value.dtype, anew, bits, &array);
    error = device_->CopyIn(sets_[0].buffers[i], array.data(), array.size());
  }
  return error;
}

DeviceError Arguments::FillWithZeros() {
  DeviceError error;
  for (size_t i = 0; i < blocks_.size() && error.code == 0; ++i) {
    const JobValue& value = case_.values[i];
    if (!IsArray(value) || value.bytes == 0) continue;
    error = device_->FillPieces(Arrays(i, sets()), 0);
  }
  return error;
}

void Arguments::AddSnapshots(size_t set, char* slot,
                             std::vector<Readback>* snapshots) const {
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const JobValue& value = case_.values[i];
    if (!IsOutput(value) || value.bytes == 0) continue;
    snapshots->push_back(
        {slot + value.offset, sets_[set].buffers[i], value.bytes});
  }
}

bool Arguments::AddInputs(size_t set, const Inputs& inputs, int variant,
                          std::vector<Twins>* twins) const {
  size_t input = 0;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const JobValue& value = case_.values[i];
    if (value.kind != Argument::Kind::kInput) continue;
    const char* stored = inputs.device(variant, input++);
    if (value.bytes == 0) continue;
    if (stored == nullptr) return false;
    twins->push_back({sets_[set].buffers[i], stored, value.bytes});
  }
  return true;
}

DeviceError Arguments::ReadInputs(size_t set, char* slot) const {
  DeviceError error;
  for (size_t i = 0; i < blocks_.size() && error.code == 0; ++i) {
    const JobValue& value = case_.values[i];
    if (value.kind != Argument::Kind::kInput || value.bytes == 0) continue;
    error = device_->CopyOut(slot + value.offset, sets_[set].buffers[i],
                             value.bytes);
  }
  return error;
}

DeviceError Arguments::FindChanged(const char* slot, std::string* names) const {
  std::vector<char> now;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const JobValue& value = case_.values[i];
    if (!IsOutput(value)) continue;
    now.resize(std::min(kPiece, value.bytes));
    for (size_t at = 0; at < value.bytes; at += kPiece) {
      const size_t bytes = std::min(kPiece, value.bytes - at);
      const DeviceError error =
          device_->CopyOut(now.data(), Arrays(i, 1).first + at, bytes);
      if (error.code != 0) return error;
      if (std::memcmp(now.data(), slot + value.offset + at, bytes) == 0) {
        continue;
      }
      *names += (names->empty() ? "" : ", ") + value.name;
      break;
    }
  }
  return {};
}

bool Arguments::HoldsPoison(const char* slot) const {
  return std::any_of(
      case_.values.begin(), case_.values.end(), [slot](const JobValue& value) {
        if (!IsOutput(value)) return false;
        const size_t run = std::min<size_t>(value.bytes, sizeof(int));
        const char* begin = slot + value.offset;
        const char* end = begin + value.bytes;
        return run > 0 && std::search_n(begin, end, static_cast<long>(run),
                                        static_cast<char>(value.poison)) != end;
      });
}

bool Arguments::HasOutput() const {
  return std::any_of(
      case_.values.begin(), case_.values.end(),
      [](const JobValue& value) { return IsOutput(value) && value.bytes > 0; });
}

DeviceError Arguments::CheckZones(std::string* overrun) const {
  if (zone_ == 0) return {};
  std::vector<Pieces> all;
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i] == nullptr) continue;
    for (const bool after : {true, false}) all.push_back(Zones(i, after));
  }
  bool written = false;
  const DeviceError error = device_->FindOther(all, kZoneByte, &written);
  return written ? DescribeZones(overrun) : error;
}

/// The first overrun of all.
DeviceError Arguments::DescribeZones(std::string* overrun) const {
  std::vector<char> zone(kZone);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    if (blocks_[i] == nullptr) continue;
    for (const bool after : {true, false}) {
      const Pieces zones = Zones(i, after);
      for (size_t s = 0; s < zones.count; ++s) {
        const DeviceError error =
            device_->CopyOut(zone.data(), zones.at(s), zones.bytes);
        if (error.code != 0) return error;
        if (std::all_of(zone.begin(), zone.end(), IsZoneByte)) continue;
        *overrun = DescribeOverrun(zone, after, case_.values[i].name);
        return {};
      }
    }
  }
  return {};
}

std::string Arguments::FilledFromHost(
    const std::vector<HostWrite>& writes) const {
  for (const HostWrite& write : writes) {
    const char* to = static_cast<const char*>(write.to);
    for (size_t i = 0; i < blocks_.size(); ++i) {
      if (!IsOutput(case_.values[i])) continue;
      const Pieces arrays = Arrays(i, sets());
      for (size_t s = 0; s < sets(); ++s) {
        const char* begin = arrays.at(s);
        if (to < begin + arrays.bytes && begin < to + write.bytes) {
          return case_.values[i].name;
        }
      }
    }
  }
  return "";
}

}  // namespace jaxkern
