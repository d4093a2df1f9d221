/// What compiles the host's half of a divided candidate, and links it: g++ with
/// precompiled headers, in one call where nothing comes between.
#ifndef JAXKERN_BACKENDS_CUDA_HOST_COMPILER_H_
#define JAXKERN_BACKENDS_CUDA_HOST_COMPILER_H_

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "backends/toolchain.h"

namespace jaxkern {

/// What a unit's own flags ask for besides the toolchain's.
struct UnitFlags {
  std::string obstacle;  ///< flags that the halves do not know; "" if none
  bool torch = false;    ///< in torch's form (docs/torch_form.md)
  bool half = false;     ///< with torch's 16-bit floats
  std::vector<std::string> headers;  ///< -include, for the host
};

/// `torch` is the directory of our headers in torch's place.
UnitFlags ReadUnitFlags(const std::vector<std::string>& flags,
                        const std::string& torch);

class HostCompiler {
 public:
  /// `headers` are our own (host/), `includes` nvcc's, `torch` as above;
  /// `libraries` are the linker's options.
  HostCompiler(std::string path, std::string headers,
               std::vector<std::string> includes, std::string torch,
               std::vector<std::string> libraries);

  const std::string& path() const { return path_; }

  /// All that decides what it makes.
  std::vector<std::string> Flags() const;

  /// Makes the precompiled header for such units when the first one comes.
  /// False: there is none, *reason says why.
  bool Prepare(const UnitFlags& unit, const Workshop& workshop,
               std::string* reason);

  /// kernel.cu to kernel.o, or, if `links`, to kernel.so.
  Ended Compile(const UnitFlags& unit, bool links,
                const Workshop& workshop) const;

  /// All that nvcc's view of headers holds, macros' definitions included.
  /// `includes` are the directives that ask for them; "" if there is one that
  /// is not found.
  std::string HeadersText(const UnitFlags& unit, const std::string& includes,
                          const Workshop& workshop) const;

  /// kernel.o, or kernel.cu if there is none, to kernel.so with `more` files.
  Ended Link(const UnitFlags& unit, bool compiled,
             const std::vector<std::string>& more,
             const Workshop& workshop) const;

 private:
  /// A precompiled header, and what became of it.
  struct Header {
    std::string directory;
    std::string broken;  // for good
  };

  static std::string NameOf(const UnitFlags& unit);
  static std::string KeyOf(const UnitFlags& unit);
  std::vector<std::string> Argv(const UnitFlags& unit) const;
  void AddLinking(std::vector<std::string>* argv) const;

  const std::string path_, headers_, torch_;
  const std::vector<std::string> includes_, libraries_;
  mutable std::mutex mutex_;
  std::map<std::string, Header> made_;  // by key
};

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_HOST_COMPILER_H_
