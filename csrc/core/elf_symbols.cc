#include "core/elf_symbols.h"

#include <elf.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace jaxkern {
namespace {

/// A file with bounds.
struct Image {
  const char* data;
  size_t bytes;

  template <typename T>
  bool Read(uint64_t offset, T* to) const {
    if (offset > bytes || bytes - offset < sizeof(T)) return false;
    std::memcpy(to, data + offset, sizeof(T));
    return true;
  }

  /// The text at `offset`, if it ends within the file.
  bool ReadText(uint64_t offset, std::string* to) const {
    if (offset >= bytes) return false;
    const void* end = std::memchr(data + offset, 0, bytes - offset);
    if (end == nullptr) return false;
    *to = data + offset;
    return true;
  }
};

/// What the dynamic section says, with addresses already turned into offsets.
struct Dynamic {
  uint64_t strings = 0, symbols = 0, gnu_hash = 0, hash = 0;
  uint64_t relocations[2] = {}, relocation_bytes[2] = {};
  std::vector<uint64_t> needed;  // in the strings
};

std::optional<uint64_t> OffsetOf(const std::vector<Elf64_Phdr>& segments,
                                 uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz) {
      return segment.p_offset + (address - segment.p_vaddr);
    }
  }
  return std::nullopt;
}

bool ReadSegments(const Image& image, std::vector<Elf64_Phdr>* segments) {
  Elf64_Ehdr header;
  if (!image.Read(0, &header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 ||
      header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_type != ET_DYN ||
      header.e_phentsize != sizeof(Elf64_Phdr)) {
    return false;
  }
  for (uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!image.Read(header.e_phoff + i * sizeof segment, &segment)) {
      return false;
    }
    segments->push_back(segment);
  }
  return true;
}

uint64_t* OffsetFor(Elf64_Sxword tag, Dynamic* dynamic) {
  switch (tag) {
    case DT_STRTAB:
      return &dynamic->strings;
    case DT_SYMTAB:
      return &dynamic->symbols;
    case DT_GNU_HASH:
      return &dynamic->gnu_hash;
    case DT_HASH:
      return &dynamic->hash;
    case DT_RELA:
      return &dynamic->relocations[0];
    case DT_JMPREL:
      return &dynamic->relocations[1];
    default:
      return nullptr;
  }
}

uint64_t* SizeFor(Elf64_Sxword tag, Dynamic* dynamic) {
  return tag == DT_RELASZ     ? &dynamic->relocation_bytes[0]
         : tag == DT_PLTRELSZ ? &dynamic->relocation_bytes[1]
                              : nullptr;
}

bool ReadDynamic(const Image& image, const std::vector<Elf64_Phdr>& segments,
                 Dynamic* dynamic) {
  const auto found = std::find_if(
      segments.begin(), segments.end(),
      [](const Elf64_Phdr& segment) { return segment.p_type == PT_DYNAMIC; });
  if (found == segments.end()) return false;
  const auto place = OffsetOf(segments, found->p_vaddr);
  if (!place) return false;
  for (uint64_t at = *place;; at += sizeof(Elf64_Dyn)) {
    Elf64_Dyn entry;
    if (!image.Read(at, &entry)) return false;
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_NEEDED) dynamic->needed.push_back(entry.d_un.d_val);
    if (uint64_t* size = SizeFor(entry.d_tag, dynamic)) {
      *size = entry.d_un.d_val;
    }
    uint64_t* offset = OffsetFor(entry.d_tag, dynamic);
    if (offset == nullptr) continue;
    const auto target = OffsetOf(segments, entry.d_un.d_ptr);
    if (!target) return false;
    *offset = *target;
  }
  return dynamic->strings != 0 && dynamic->symbols != 0;
}

/// One more than the last symbol that a relocation binds.
std::optional<uint64_t> CountBound(const Image& image, const Dynamic& dynamic) {
  uint64_t count = 0;
  for (int table = 0; table < 2; ++table) {
    const uint64_t entries =
        dynamic.relocation_bytes[table] / sizeof(Elf64_Rela);
    for (uint64_t i = 0; i < entries; ++i) {
      Elf64_Rela relocation;
      if (!image.Read(dynamic.relocations[table] + i * sizeof relocation,
                      &relocation)) {
        return std::nullopt;
      }
      count = std::max(count, uint64_t{ELF64_R_SYM(relocation.r_info)} + 1);
    }
  }
  return count;
}

/// One more than the last symbol that a hash table knows. The new kind knows
/// defined ones only; these come last, if there are any.
std::optional<uint64_t> CountHashed(const Image& image,
                                    const Dynamic& dynamic) {
  uint32_t old_header[2];
  if (dynamic.hash != 0) {
    if (!image.Read(dynamic.hash, &old_header)) return std::nullopt;
    return old_header[1];
  }
  uint32_t header[4];  // buckets, first symbol, bloom words, bloom shift
  if (dynamic.gnu_hash == 0 || !image.Read(dynamic.gnu_hash, &header)) {
    return std::nullopt;
  }
  const uint64_t buckets =
      dynamic.gnu_hash + sizeof header + uint64_t{8} * header[2];
  uint32_t last = 0;
  for (uint64_t i = 0; i < header[0]; ++i) {
    uint32_t first;
    if (!image.Read(buckets + 4 * i, &first)) return std::nullopt;
    last = std::max(last, first);
  }
  if (last < header[1]) return 0;  // no defined ones
  const uint64_t chains = buckets + uint64_t{4} * header[0];
  for (uint64_t i = last;; ++i) {
    uint32_t link;
    if (!image.Read(chains + 4 * (i - header[1]), &link)) return std::nullopt;
    if ((link & 1) != 0) return i + 1;
  }
}

}  // namespace

std::optional<ElfSymbols> ReadElfSymbols(const char* data, size_t bytes) {
  const Image image{data, bytes};
  std::vector<Elf64_Phdr> segments;
  Dynamic dynamic;
  if (!ReadSegments(image, &segments) ||
      !ReadDynamic(image, segments, &dynamic)) {
    return std::nullopt;
  }
  const auto hashed = CountHashed(image, dynamic);
  const auto bound = CountBound(image, dynamic);
  if (!hashed || !bound) return std::nullopt;
  ElfSymbols symbols;
  for (const uint64_t name : dynamic.needed) {
    if (!image.ReadText(dynamic.strings + name,
                        &symbols.needed.emplace_back())) {
      return std::nullopt;
    }
  }
  for (uint64_t i = 1; i < std::max(*hashed, *bound);
       ++i) {  // the first one is nobody
    Elf64_Sym symbol;
    std::string name;
    if (!image.Read(dynamic.symbols + i * sizeof symbol, &symbol) ||
        !image.ReadText(dynamic.strings + symbol.st_name, &name)) {
      return std::nullopt;
    }
    if (name.empty()) continue;
    (symbol.st_shndx == SHN_UNDEF ? symbols.imported : symbols.exported)
        .push_back(std::move(name));
  }
  return symbols;
}

}  // namespace jaxkern
