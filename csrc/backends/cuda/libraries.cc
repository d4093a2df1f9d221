#include "backends/cuda/libraries.h"

#include <algorithm>
#include <optional>

#include "backends/cuda/search.h"

namespace jaxkern {
namespace {

constexpr char kSystemHeaders[] = "/usr/include";

/// A library as bundles call it. Without a header it comes with every nvcc.
struct Known {
  std::string name, header;
  std::vector<std::string> files;  // in the order of their needs
};

std::vector<Known> KnownLibraries(const std::string& major) {
  return {
      {"cublas",
       "cublas_v2.h",
       {"libcublasLt.so." + major, "libcublas.so." + major}},
      {"cudnn", "cudnn.h", {"libcudnn.so.9"}},
      {"cub", "", {}},
      {"thrust", "", {}},
  };
}

struct Place {
  std::string include, library;  // directories
};

/// Glob patterns, the toolkit first.
std::vector<Place> Places(const Nvcc& nvcc, const std::string& name) {
  std::vector<Place> places;
  const auto add = [&](const std::string& root, const char* library) {
    places.push_back({root + "/include", root + library});
  };
  std::vector<std::string> roots = {nvcc.top};
  if (!Variable("CUDA_HOME").empty()) roots.push_back(Variable("CUDA_HOME"));
  roots.push_back("/usr/local/cuda");
  for (const std::string& root : roots) {
    for (const char* library : {"/lib64", "/lib", "/targets/*/lib"}) {
      add(root, library);
    }
  }
  for (const std::string& site : SitePackages()) {
    add(site + "/nvidia/cu" + nvcc.major, "/lib");
    add(site + "/nvidia/" + name, "/lib");
  }
  for (const std::string& library : Split(Variable("LD_LIBRARY_PATH"), ':')) {
    places.push_back({library + "/../include", library});
  }
  for (const char* library : {"/usr/lib/*-linux-gnu", "/usr/lib64"}) {
    places.push_back({kSystemHeaders, library});
    places.push_back({kSystemHeaders + std::string("/*-linux-gnu"), library});
  }
  return places;
}

/// The first place with the header and all files.
std::optional<Place> Find(const Nvcc& nvcc, const Known& known) {
  for (const Place& place : Places(nvcc, known.name)) {
    const auto headers = Glob(place.include + "/" + known.header);
    const auto files = Glob(place.library + "/" + known.files[0]);
    if (headers.empty() || files.empty()) continue;
    const Place found = {headers[0].substr(0, headers[0].rfind('/')),
                         Absolute(files[0].substr(0, files[0].rfind('/')))};
    const bool all = std::all_of(
        known.files.begin(), known.files.end(), [&](const std::string& file) {
          return !Glob(found.library + "/" + file).empty();
        });
    if (all) return found;
  }
  return std::nullopt;
}

}  // namespace

Libraries FindCudaLibraries(const Nvcc& nvcc,
                            const std::vector<std::string>& names) {
  Libraries libraries;
  const std::vector<Known> all = KnownLibraries(nvcc.major);
  for (const std::string& name : names) {
    const auto known = std::find_if(
        all.begin(), all.end(), [&](const Known& k) { return k.name == name; });
    if (known == all.end()) {
      libraries.missing = "no library is known as " + name;
      return libraries;
    }
    if (known->header.empty()) continue;
    const std::optional<Place> place = Find(nvcc, *known);
    if (!place) {
      libraries.missing = "needs " + name + ": no " + known->header +
                          " with a " + known->files.back() +
                          " in the toolkit, CUDA_HOME or a wheel";
      return libraries;
    }
    // Behind the toolkit's: wheels of another version may lie there, too. The
    // system's own must not be named, which would change their order.
    if (place->include.rfind(kSystemHeaders, 0) != 0) {
      libraries.flags.push_back("-isystem=" + place->include);
    }
    libraries.flags.push_back("-L" + place->library);
    for (const std::string& file : known->files) {
      libraries.flags.push_back("-l:" + file);
      libraries.files.push_back(place->library + "/" + file);
    }
  }
  return libraries;
}

std::vector<std::string> CudaLibraryDirectories(const Nvcc& nvcc) {
  std::vector<std::string> directories;
  for (const Known& known : KnownLibraries(nvcc.major)) {
    if (known.header.empty()) continue;
    const std::optional<Place> place = Find(nvcc, known);
    if (place) directories.push_back(place->library);
  }
  return directories;
}

}  // namespace jaxkern
