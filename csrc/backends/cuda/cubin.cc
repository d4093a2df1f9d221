#include "backends/cuda/cubin.h"

#include <cxxabi.h>
#include <elf.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace jaxkern {
namespace {

/// Sections of an ELF file; every access is within it.
class Sections {
 public:
  explicit Sections(const std::string& file) : file_(file) {
    Elf64_Ehdr head;
    if (!Get(0, &head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_shentsize != sizeof(Elf64_Shdr)) {
      return;
    }
    for (uint64_t i = 0; i < head.e_shnum; ++i) {
      Elf64_Shdr section;
      if (!Get(head.e_shoff + i * sizeof section, &section)) return;
      sections_.push_back(section);
    }
    if (head.e_shstrndx >= sections_.size()) return;
    names_ = head.e_shstrndx;
    ok_ = true;
  }

  bool ok() const { return ok_; }
  const std::vector<Elf64_Shdr>& all() const { return sections_; }

  template <typename T>
  bool Get(uint64_t at, T* value) const {
    if (at > file_.size() || file_.size() - at < sizeof(T)) return false;
    std::memcpy(value, file_.data() + at, sizeof(T));
    return true;
  }

  std::string Contents(const Elf64_Shdr& section) const {
    if (section.sh_type == SHT_NOBITS || section.sh_offset > file_.size() ||
        file_.size() - section.sh_offset < section.sh_size) {
      return "";
    }
    return file_.substr(section.sh_offset, section.sh_size);
  }

  std::string Name(const Elf64_Shdr& section) const {
    return StringAt(Contents(sections_[names_]), section.sh_name);
  }

  static std::string StringAt(const std::string& table, uint64_t at) {
    if (at >= table.size()) return "";
    return table.substr(at, table.find('\0', at) - at);
  }

 private:
  const std::string& file_;
  std::vector<Elf64_Shdr> sections_;
  size_t names_ = 0;
  bool ok_ = false;
};

template <typename T>
void Append(std::string* text, T value) {
  text->append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::optional<std::set<std::string>> DefinedSymbols(const std::string& object) {
  const Sections sections(object);
  if (!sections.ok()) return std::nullopt;
  std::set<std::string> names;
  for (const Elf64_Shdr& section : sections.all()) {
    if (section.sh_type != SHT_SYMTAB) continue;
    if (section.sh_link >= sections.all().size()) return std::nullopt;
    const std::string table =
        sections.Contents(sections.all()[section.sh_link]);
    const uint64_t count = section.sh_size / sizeof(Elf64_Sym);
    for (uint64_t i = 0; i < count; ++i) {
      Elf64_Sym symbol;
      if (!sections.Get(section.sh_offset + i * sizeof symbol, &symbol)) {
        return std::nullopt;
      }
      if (symbol.st_shndx == SHN_UNDEF) continue;
      names.insert(Sections::StringAt(table, symbol.st_name));
    }
  }
  return names;
}

std::vector<std::string> SectionStrings(const std::string& object,
                                        const std::string& section) {
  std::vector<std::string> strings;
  const Sections sections(object);
  if (!sections.ok()) return strings;
  for (const Elf64_Shdr& one : sections.all()) {
    if (sections.Name(one) != section) continue;
    const std::string contents = sections.Contents(one);
    for (size_t at = 0; at < contents.size();) {
      strings.push_back(Sections::StringAt(contents, at));
      at += strings.back().size() + 1;
    }
  }
  return strings;
}

bool PutInSection(const std::string& section, const std::string& contents,
                  std::string* object) {
  const Sections sections(*object);
  if (!sections.ok()) return false;
  for (const Elf64_Shdr& one : sections.all()) {
    if (sections.Name(one) != section || one.sh_type != SHT_PROGBITS) continue;
    if (sections.Contents(one).size() < contents.size()) return false;
    object->replace(one.sh_offset, contents.size(), contents);
    return true;
  }
  return false;
}

std::string FatBinary(const std::string& cubin,
                      const std::string& architecture) {
  const uint64_t padded = (cubin.size() + 7) / 8 * 8;
  constexpr uint16_t kHead = 16, kEntry = 64, kCubin = 2;
  const bool own = architecture.back() == 'a';  // what only this chip has
  std::string text;
  Append<uint32_t>(&text, 0xba55ed50);
  Append<uint16_t>(&text, 1);
  Append<uint16_t>(&text, kHead);
  Append<uint64_t>(&text, kEntry + padded);
  Append<uint16_t>(&text, kCubin);
  Append<uint16_t>(&text, 0x101);
  Append<uint32_t>(&text, kEntry);
  Append<uint64_t>(&text, padded);
  Append<uint64_t>(&text, 0);
  const char version = cubin.size() > EI_ABIVERSION ? cubin[EI_ABIVERSION] : 0;
  Append<uint16_t>(&text, static_cast<uint16_t>(version));
  Append<uint16_t>(&text, 1);
  Append<uint32_t>(&text, static_cast<uint32_t>(std::stoi(architecture)));
  Append<uint64_t>(&text, 0);
  Append<uint32_t>(&text, own ? 0x100011 : 0x11);
  text.resize(kHead + kEntry);
  text += cubin;
  text.resize(kHead + kEntry + padded);
  return text;
}

std::string NameExpression(const std::string& symbol) {
  int failed = 0;
  char* plain = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &failed);
  std::string text = failed == 0 ? plain : "";
  std::free(plain);
  const std::string result = "void ";  // a template's name has it
  if (text.rfind(result, 0) == 0) text.erase(0, result.size());
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<') ++depth;
    if (text[i] == '>') --depth;
    if (text[i] == '(' && depth == 0) return text.substr(0, i);
  }
  return "";
}

}  // namespace jaxkern
