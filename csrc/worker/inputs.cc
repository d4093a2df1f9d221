#include "worker/inputs.h"

#include <vector>

#include "worker/arguments.h"

namespace jaxkern {
namespace {

std::vector<size_t> InputBytes(const JobCase& c) {
  std::vector<size_t> bytes;
  for (const JobValue& value : c.values) {
    if (value.kind == Argument::Kind::kInput) bytes.push_back(value.bytes);
  }
  return bytes;
}

}  // namespace

Inputs::~Inputs() {
  if (stored_ != nullptr) device_->Free(stored_);
}

DeviceError Inputs::Store(size_t room) {
  if (device_->MaxBatch() == 1) return {};  // its memory is the host's
  const std::vector<size_t> bytes = InputBytes(case_);
  std::map<size_t, size_t> places;
  size_t end = 0;
  for (const std::vector<size_t>& variant : case_.inputs) {
    for (size_t i = 0; i < bytes.size(); ++i) {
      if (places.emplace(variant[i], end).second) end += Aligned(bytes[i]);
    }
  }
  if (end == 0 || end > room) return {};
  DeviceError error = device_->Allocate(end, &stored_);
  if (error.out_of_memory) return {};  // then from the host each time
  for (const std::vector<size_t>& variant : case_.inputs) {
    for (size_t i = 0; i < bytes.size() && error.code == 0; ++i) {
      if (bytes[i] == 0) continue;
      error =
          device_->CopyIn(static_cast<char*>(stored_) + places.at(variant[i]),
                          block_ + variant[i], bytes[i]);
    }
  }
  places_ = std::move(places);
  return error;
}

const char* Inputs::device(int variant, size_t i) const {
  if (stored_ == nullptr) return nullptr;
  return static_cast<const char*>(stored_) + places_.at(Offset(variant, i));
}

}  // namespace jaxkern
