#include "backends/cpu/check_symbols.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

extern "C" void* __tls_get_addr(void* index);

namespace jaxkern {
namespace {

/// "kernel(float*)::tile" is "tile"; what has no name is "".
std::string PlainName(const char* mangled) {
  int failed = 0;
  char* plain = abi::__cxa_demangle(mangled, nullptr, nullptr, &failed);
  std::string name = failed == 0 ? plain : mangled;
  std::free(plain);
  const size_t scope = name.rfind("::");
  if (scope != std::string::npos) name = name.substr(scope + 2);
  const bool word = name.find_first_of(" ()<>@.") == std::string::npos;
  return word ? name : "";
}

/// Where the thread-local variables of the library at `base` begin.
uintptr_t ThreadLocals(uintptr_t base) {
  struct Query {
    uintptr_t base, found;
  } query = {base, 0};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* data) {
        Query* q = static_cast<Query*>(data);
        if (info->dlpi_addr != q->base) return 0;
        size_t index[2] = {info->dlpi_tls_modid, 0};
        if (index[0] != 0) q->found = uintptr_t(__tls_get_addr(index));
        return 1;
      },
      &query);
  return query.found;
}

template <class T>
const T* At(const std::string& file, size_t offset, size_t count = 1) {
  if (offset > file.size() || count > (file.size() - offset) / sizeof(T)) {
    return nullptr;
  }
  return reinterpret_cast<const T*>(file.data() + offset);
}

}  // namespace

LibraryVariables ReadVariables(const void* inside) {
  LibraryVariables library;
  Dl_info info{};
  if (dladdr(inside, &info) == 0) return library;
  library.base = reinterpret_cast<uintptr_t>(info.dli_fbase);
  std::ifstream stream(info.dli_fname, std::ios::binary);
  const std::string file((std::istreambuf_iterator<char>(stream)),
                         std::istreambuf_iterator<char>());
  const auto* header = At<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) {
    return library;
  }
  const auto* sections = At<Elf64_Shdr>(file, header->e_shoff, header->e_shnum);
  const uintptr_t locals = ThreadLocals(library.base);
  for (size_t s = 0; sections && s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB) continue;
    const size_t count = sections[s].sh_size / sizeof(Elf64_Sym);
    const auto* symbols = At<Elf64_Sym>(file, sections[s].sh_offset, count);
    const char* names = file.data() + sections[sections[s].sh_link].sh_offset;
    for (size_t i = 0; symbols && i < count; ++i) {
      const Elf64_Sym& symbol = symbols[i];
      const unsigned type = ELF64_ST_TYPE(symbol.st_info);
      const bool shared = type == STT_TLS && locals != 0;
      const bool writable =
          type == STT_OBJECT && symbol.st_shndx < header->e_shnum &&
          (sections[symbol.st_shndx].sh_flags & SHF_WRITE) != 0;
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
      std::string name = PlainName(names + symbol.st_name);
      if (shared && name.empty()) name = "shared memory";
      if ((!shared && !writable) || name.empty()) continue;
      library.variables.push_back(
          {name, (shared ? locals : library.base) + symbol.st_value,
           symbol.st_size, shared});
    }
  }
  return library;
}

}  // namespace jaxkern
