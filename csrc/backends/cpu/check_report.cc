// What the checker says, and what it is told besides accesses.
#include <algorithm>
#include <cstdio>

#include "backends/cpu/checker.h"
#include "backends/cpu/runtime.h"

namespace jaxkern {
namespace {

// How the compiler describes what -fsanitize=undefined found.
struct SourceLocation {
  const char* file;
  uint32_t line, column;
};

struct TypeDescriptor {
  uint16_t kind, info;
  char name[1];  // "'int'"

  int bits() const { return 1 << (info >> 1); }
  bool is_signed() const { return (info & 1) != 0; }
};

struct OverflowData {
  SourceLocation where;
  const TypeDescriptor* type;
};

struct IndexData {
  SourceLocation where;
  const TypeDescriptor *array, *index;
};

std::string Unquoted(const TypeDescriptor* type) {
  const std::string name = type->name;
  return name.size() > 2 && name[0] == '\'' ? name.substr(1, name.size() - 2)
                                            : name;
}

std::string Number(const TypeDescriptor* type, uintptr_t value) {
  if (!type->is_signed()) return std::to_string(value);
  const int unused = 64 - type->bits();
  if (unused < 0) return "?";  // 128 bits are passed by address
  return std::to_string(int64_t(uint64_t(value) << unused) >> unused);
}

std::string Triple(unsigned x, unsigned y, unsigned z) {
  return "(" + std::to_string(x) + "," + std::to_string(y) + "," +
         std::to_string(z) + ")";
}

/// "[3][17]": an element's place in an array of these extents.
std::string Indices(int64_t index, const std::vector<size_t>& extents) {
  std::string text;
  for (size_t i = extents.size(); i-- > 1;) {
    const int64_t extent = int64_t(extents[i]);
    const int64_t inner = (index % extent + extent) % extent;
    text = "[" + std::to_string(inner) + "]" + text;
    index = (index - inner) / extent;
  }
  return "[" + std::to_string(index) + "]" + text;
}

/// "1000 elements", or "8 x 9 elements".
std::string Elements(const Region& region, size_t element) {
  std::string text;
  for (size_t extent : region.extents) {
    text += (text.empty() ? "" : " x ") + std::to_string(extent);
  }
  if (text.empty()) text = std::to_string(region.bytes / element);
  return text + (text == "1" ? " element" : " elements");
}

std::string Unlinear(unsigned index, dim3 extent) {
  return Triple(index % extent.x, index / extent.x % extent.y,
                index / extent.x / extent.y);
}

}  // namespace

std::string Place(uint32_t pc) {
  char text[24];
  std::snprintf(text, sizeof text, "{F:%x}", pc);
  return text;
}

std::string Line(uint32_t pc) {
  char text[24];
  std::snprintf(text, sizeof text, "{L:%x}", pc);
  return text;
}

std::string Checker::Who() const {
  return "thread " + Triple(threadIdx.x, threadIdx.y, threadIdx.z) +
         " of block " + Triple(blockIdx.x, blockIdx.y, blockIdx.z);
}

std::string Checker::WhoDid(const Record& record) const {
  const std::string thread = "thread " + Unlinear(record.thread, blockDim);
  if (order_.InBlock(record)) return thread;
  return thread + " of block " + Unlinear(order_.BlockIndex(record), gridDim);
}

std::string Checker::Name(const Region& region, uintptr_t address,
                          size_t bytes) const {
  const int64_t offset = int64_t(address - region.begin);
  if (region.name.empty()) {
    return "byte " + std::to_string(offset) + " of the " +
           std::to_string(region.bytes) + "-byte buffer allocated at " +
           Line(uint32_t(region.allocated));
  }
  const int64_t element = int64_t(region.element != 0 ? region.element : bytes);
  const int64_t first = (offset < 0 ? offset - element + 1 : offset) / element;
  const int64_t last = first + (int64_t(bytes) - 1) / element;
  std::string name = region.name;
  if (region.extents.size() > 1) {
    name += Indices(first, region.extents);
    if (last > first) name += ".." + Indices(last, region.extents);
  } else if (region.bytes != size_t(element) || first != 0) {
    name += "[" + std::to_string(first);
    name += last > first ? ".." + std::to_string(last) + "]" : "]";
  }
  return region.kind == Region::Kind::kShared ? name + " (shared)" : name;
}

std::string Checker::OutOfBounds(const Region& region, const Now& now) const {
  std::string text = Place(now.pc) + ": out-of-bounds " +
                     (now.write() ? "write" : "read") + " of " +
                     Name(region, now.address, now.bytes);
  if (!region.name.empty()) {
    const size_t element = region.element != 0 ? region.element : now.bytes;
    text += " (" + region.name + " has " + Elements(region, element) + ")";
  }
  return text + " by " + Who() + overflow_;
}

std::string Checker::Race(const Region& region, uintptr_t address,
                          const Record& earlier, bool earlier_write,
                          const Now& now) const {
  const auto verb = [](bool write, bool atomic) -> std::string {
    if (atomic) return "updated atomically";
    return write ? "written" : "read";
  };
  std::string text =
      Place(now.pc) + ": race on " + Name(region, address, now.bytes) + ": " +
      verb(earlier_write, earlier.atomic) + " by " + WhoDid(earlier) + " at " +
      Line(earlier.pc) + ", " + verb(now.write(), now.atomic()) + " by ";
  if (!order_.InBlock(earlier)) {
    return text + Who() + " at " + Line(now.pc) +
           ", and blocks run in any order";
  }
  const bool warp = earlier.thread / 32 == now.thread / 32;
  return text + "thread " + Triple(threadIdx.x, threadIdx.y, threadIdx.z) +
         " at " + Line(now.pc) + ", no barrier " +
         (warp ? "or __syncwarp " : "") + "between them (block " +
         Triple(blockIdx.x, blockIdx.y, blockIdx.z) + ")";
}

bool Checker::Free(void* pointer, const void* caller) {
  if (pointer == nullptr || memory_.Free(uintptr_t(pointer))) return true;
  const Region* region = memory_.Find(uintptr_t(pointer));
  Find(Place(Pc(caller)) + ": cudaFree of " +
       (region && region->freed ? "a buffer that was freed already"
                                : "what cudaMalloc did not return"));
  return false;
}

bool Checker::HostCall(const char* call, const void* pointer, size_t bytes,
                       bool write, const void* caller) {
  Region* region = memory_.Find(uintptr_t(pointer));
  if (region == nullptr || bytes == 0) return true;
  const std::string what = Place(Pc(caller)) + ": " + call +
                           (write ? " writes " : " reads ") +
                           std::to_string(bytes) + " bytes from " +
                           Name(*region, uintptr_t(pointer), 1) + " on";
  if (region->freed) {
    Find(what + ", which was freed");
    return false;
  }
  if (region->end() - uintptr_t(pointer) < bytes) {
    Find(what + ", but only " +
         std::to_string(region->end() - uintptr_t(pointer)) + " are left");
    return false;
  }
  if (write && region->input) {
    Find(what + ", an input");
    return false;
  }
  if (write) region->MarkInitialised(uintptr_t(pointer), bytes);
  return true;
}

void Checker::Overflow(const char* operation, const void* data, uintptr_t left,
                       uintptr_t right, const void* caller) {
  const TypeDescriptor* type = static_cast<const OverflowData*>(data)->type;
  const bool unary = operation[0] != ' ';
  const std::string what = (unary ? "" : Number(type, left)) + operation +
                           Number(type, right) + " does not fit in " +
                           Unquoted(type);
  if (overflow_.empty()) {
    overflow_ = "; before that, at " + Line(Pc(caller)) + ", " + what;
  }
  Suggest(kOverflow, Place(Pc(caller)) + ": integer overflow: " + what +
                         (InKernel() ? ", in " + Who() : ""));
}

void Checker::Index(const void* data, uintptr_t index, const void* caller) {
  const auto* described = static_cast<const IndexData*>(data);
  const std::string type = Unquoted(described->array);
  // A plane's elements are often counted from its first row on; whether that
  // is right, the address tells.
  const size_t extents = std::min(type.find('['), type.size());
  if (memory_.IsPartOfShared(type.substr(extents))) return;
  Suggest(kIndex, Place(Pc(caller)) + ": index " +
                      Number(described->index, index) + " is outside " + type +
                      (InKernel() ? ", in " + Who() : ""));
}

}  // namespace jaxkern

using jaxkern::Checker;

extern "C" {

void jaxkern_check_library(const void* inside) { Checker::TurnOn(inside); }

void jaxkern_check_access(const volatile void* address, size_t bytes, int how,
                          const void* caller, const void* frame) {
  // Constructors of a library may come before the checker is on.
  if (Checker* checker = Checker::Get()) {
    checker->Access(address, bytes, how, caller, frame);
  }
}

void jaxkern_check_fence() {
  if (jaxkern::InKernel()) Checker::Get()->Fence();
}

void jaxkern_check_argument(const void* buffer, const char* name,
                            size_t element, bool input) {
  Checker::Get()->Argument(buffer, name, element, input);
}

bool jaxkern_check_shape(const volatile void* array, size_t element,
                         const size_t* extents, int rank) {
  Checker::Get()->Shape(array, element, extents, rank);
  return true;
}

void jaxkern_check_overflow(const char* operation, const void* data,
                            uintptr_t left, uintptr_t right,
                            const void* caller) {
  Checker::Get()->Overflow(operation, data, left, right, caller);
}

void jaxkern_check_index(const void* data, uintptr_t index,
                         const void* caller) {
  Checker::Get()->Index(data, index, caller);
}

}  // extern "C"
