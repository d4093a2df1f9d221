#include "backends/cuda/nvcc.h"

#include <dlfcn.h>

#include <regex>
#include <stdexcept>
#include <vector>

#include "backends/cuda/search.h"
#include "core/subprocess.h"

namespace jaxkern {
namespace {

std::string Output(const std::vector<std::string>& argv) {
  struct Command command;
  command.argv = argv;
  command.environment = ScrubbedEnvironment();
  const Ended ended = Run(command, /*timeout_s=*/30);
  if (ended.exit_code != 0) {
    throw std::invalid_argument(
        "compiler: " + argv[0] + " does not work: " +
        (ended.spawn_error.empty() ? ended.output : ended.spawn_error));
  }
  return ended.output;
}

struct Place {
  std::string path;
  std::string found;
};

Place Locate(const std::string& compiler) {
  if (!compiler.empty()) {
    const bool bare = compiler.find('/') == std::string::npos;
    const std::string path = bare ? OnPath(compiler) : compiler;
    if (IsExecutable(path)) return {path, "compiler option"};
    throw std::invalid_argument("compiler: expected an nvcc, got " + compiler +
                                ", which is no executable file" +
                                (bare ? " on PATH" : ""));
  }
  std::string searched = "CUDA_HOME";
  const std::string home = Variable("CUDA_HOME");
  if (home.empty()) {
    searched += " (not set)";
  } else {
    const std::string path = home + "/bin/nvcc";
    if (IsExecutable(path)) return {path, "CUDA_HOME"};
    searched += " (" + path + ")";
  }
  const std::string path = OnPath("nvcc");
  if (!path.empty()) return {path, "PATH"};
  searched += ", PATH";
  for (const std::string& site : SitePackages()) {
    const std::string pattern = site + "/nvidia/cu*/bin/nvcc";
    for (const std::string& match : Glob(pattern)) {
      if (IsExecutable(match)) return {match, "wheel"};
    }
    searched += ", " + pattern;
  }
  throw std::invalid_argument(
      "compiler: no nvcc found: searched " + searched +
      "; install a CUDA toolkit or `pip install 'jaxkern-cuda[cuda13]'`");
}

/// The toolkit's directory as nvcc itself sees it: nvcc on PATH may be a
/// script that starts another one elsewhere.
std::string Top(const std::string& nvcc) {
  const std::string printed =
      Output({nvcc, "--dryrun", "-E", "-x", "cu", "/dev/null"});
  std::smatch match;
  if (!std::regex_search(printed, match, std::regex("#\\$ TOP=(\\S+)"))) {
    throw std::invalid_argument("compiler: expected an nvcc, got " + nvcc +
                                ", which names no TOP in a dry run");
  }
  return match[1];
}

std::string FindRuntime(const std::string& top, const std::string& major) {
  std::vector<std::string> places = {top + "/lib64", top + "/lib",
                                     top + "/targets/*/lib"};
  const std::string home = Variable("CUDA_HOME");
  if (!home.empty()) places.push_back(home + "/lib64");
  for (const std::string& site : SitePackages()) {
    places.push_back(site + "/nvidia/cu" + major + "/lib");
    places.push_back(site + "/nvidia/cuda_runtime/lib");
  }
  for (const std::string& place : Split(Variable("LD_LIBRARY_PATH"), ':')) {
    places.push_back(place);
  }
  places.push_back("/usr/local/cuda/lib64");
  places.push_back("/usr/lib/*-linux-gnu");
  places.push_back("/usr/lib64");
  const std::string name = "/libcudart.so." + major;
  std::string searched;
  for (const std::string& place : places) {
    const std::vector<std::string> matches = Glob(place + name);
    if (!matches.empty()) return Absolute(matches[0]);
    searched += " " + place;
  }
  throw std::invalid_argument("compiler: no libcudart.so." + major +
                              " found for nvcc: searched" + searched);
}

}  // namespace

Nvcc FindNvcc(const std::string& compiler) {
  const Place place = Locate(compiler);
  Nvcc nvcc;
  // Not Absolute(): a link's directory may hold what nvcc needs beside it.
  nvcc.path = place.path;
  if (nvcc.path[0] != '/') nvcc.path = Absolute(".") + "/" + nvcc.path;
  nvcc.found = place.found;
  nvcc.build = Output({nvcc.path, "--version"});
  std::smatch match;
  if (!std::regex_search(nvcc.build, match,
                         std::regex("release [0-9.]+, V(([0-9]+)[0-9.]*)"))) {
    throw std::invalid_argument("compiler: expected an nvcc, got " + nvcc.path +
                                ", whose version is: " + nvcc.build);
  }
  nvcc.version = match[1];
  nvcc.major = match[2];
  nvcc.top = Top(nvcc.path);
  nvcc.cudart = FindRuntime(nvcc.top, nvcc.major);
  return nvcc;
}

std::string FindSanitizer(const Nvcc& nvcc) {
  const std::string name = "/compute-sanitizer";
  const std::string home = Variable("CUDA_HOME");
  std::vector<std::string> places = {nvcc.path.substr(0, nvcc.path.rfind('/'))};
  for (const std::string& root : {nvcc.top, home}) {
    if (root.empty()) continue;
    places.push_back(root + "/bin");
    places.push_back(root + name);
  }
  const std::string on_path = OnPath(name.substr(1));
  if (!on_path.empty()) {
    places.push_back(on_path.substr(0, on_path.size() - name.size()));
  }
  places.insert(places.end(),
                {"/usr/local/cuda/bin", "/usr/local/cuda" + name});
  for (const std::string& site : SitePackages()) {
    places.push_back(site + "/nvidia/cu*/bin");
  }
  for (const std::string& place : places) {
    for (const std::string& match : Glob(place + name)) {
      if (IsExecutable(match)) return Absolute(match);
    }
  }
  return "";
}

std::string Architecture() {
  const char* const none = "90a";
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (driver == nullptr) return none;
  // The driver stays loaded: it does not survive being unloaded.
  const auto init =
      reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"));
  const auto get =
      reinterpret_cast<int (*)(int*, int)>(dlsym(driver, "cuDeviceGet"));
  const auto attribute = reinterpret_cast<int (*)(int*, int, int)>(
      dlsym(driver, "cuDeviceGetAttribute"));
  constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  constexpr int kMinor = 76;
  int device = 0, major = 0, minor = 0;
  if (init == nullptr || get == nullptr || attribute == nullptr ||
      init(0) != 0 || get(&device, 0) != 0 ||
      attribute(&major, kMajor, device) != 0 ||
      attribute(&minor, kMinor, device) != 0) {
    return none;
  }
  // From Hopper on, an "a" target adds what only this chip has (wgmma).
  return std::to_string(major) + std::to_string(minor) +
         (major >= 9 ? "a" : "");
}

}  // namespace jaxkern
