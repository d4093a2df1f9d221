/// Finds nvcc, compute-sanitizer, the CUDA runtime that belongs to it, and the
/// GPU's architecture.
#ifndef JAXKERN_BACKENDS_CUDA_NVCC_H_
#define JAXKERN_BACKENDS_CUDA_NVCC_H_

#include <string>

namespace jaxkern {

struct Nvcc {
  std::string path;     ///< absolute
  std::string found;    ///< "CUDA_HOME", "PATH", "wheel" or "compiler option"
  std::string build;    ///< what --version prints
  std::string version;  ///< "13.0.88"
  std::string major;    ///< "13"
  std::string top;      ///< the toolkit's directory, as nvcc itself sees it
  std::string cudart;   ///< absolute path of libcudart.so.<major>
};

/// `compiler` if given (a path or a name on PATH), else $CUDA_HOME/bin/nvcc,
/// nvcc on PATH, then the wheels nvidia-cuda-nvcc and nvidia-cuda-runtime in
/// $JAXKERN_SITE_PACKAGES, in the environment jaxkern is installed in, in
/// $VIRTUAL_ENV and in that of the python3 on PATH. Throws
/// std::invalid_argument naming the places that were searched.
Nvcc FindNvcc(const std::string& compiler);

/// compute-sanitizer beside nvcc, in nvcc's toolkit, in $CUDA_HOME, on PATH, in
/// /usr/local/cuda or in a wheel where FindNvcc looks for them. "": nowhere.
std::string FindSanitizer(const Nvcc& nvcc);

/// The architecture to compile for: that of GPU 0 with its own features, e.g.
/// "90a", which is also the answer when there is no GPU. Asks the driver and
/// creates no context.
std::string Architecture();

}  // namespace jaxkern

#endif  // JAXKERN_BACKENDS_CUDA_NVCC_H_
