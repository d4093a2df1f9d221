#include "backends/cpu/features.h"

#include <algorithm>
#include <array>
#include <vector>

#include "core/lexer.h"
#include "core/unit.h"

namespace jaxkern {
namespace {

using Kind = Token::Kind;

// A launch or a shared variable may cost a walk over all tokens. This happens
// in the evaluator's own process, where no deadline ends it; 10^8 are a second.
constexpr size_t kMaxSteps = 200'000'000;

size_t RewritingSteps(const std::vector<Token>& tokens) {
  const auto walks =
      std::count_if(tokens.begin(), tokens.end(), [](const Token& token) {
        return token.text == "<<<" || token.text == "__shared__";
      });
  return tokens.size() * static_cast<size_t>(walks);
}

struct Feature {
  const char* word;     ///< an identifier
  const char* message;  ///< what it means
};

constexpr std::array kFeatures = {
    Feature{"asm", "inline PTX (asm)"},
    Feature{"__asm__", "inline PTX (asm)"},
    Feature{"__asm", "inline PTX (asm)"},
    Feature{"wmma", "tensor cores (wmma)"},
    Feature{"CUtensorMap", "the tensor memory accelerator (TMA)"},
    Feature{"cuTensorMapEncodeTiled", "the tensor memory accelerator (TMA)"},
    Feature{"__pipeline_memcpy_async", "asynchronous copies (pipeline)"},
    Feature{"memcpy_async", "asynchronous copies (memcpy_async)"},
    Feature{"this_grid", "grid-wide synchronisation (cooperative launch)"},
    Feature{"grid_group", "grid-wide synchronisation (cooperative launch)"},
    Feature{"this_cluster", "thread block clusters"},
    Feature{"cluster_group", "thread block clusters"},
    Feature{"cudaLaunchCooperativeKernel",
            "grid-wide synchronisation (cooperative launch)"},
    Feature{"cudaLaunchKernel", "launches by cudaLaunchKernel"},
    Feature{"cudaLaunchKernelEx", "extended launches (cudaLaunchKernelEx)"},
    Feature{"cudaGraph_t", "CUDA graphs"},
    Feature{"cudaTextureObject_t", "textures"},
    Feature{"cudaSurfaceObject_t", "surfaces"},
};

// By how the included file's name begins.
constexpr std::array kHeaders = {
    Feature{"mma.h", "tensor cores (wmma)"},
    Feature{"cublas", "library calls (cuBLAS)"},
    Feature{"cudnn", "library calls (cuDNN)"},
    Feature{"cufft", "library calls (cuFFT)"},
    Feature{"curand", "library calls (cuRAND)"},
    Feature{"cusparse", "library calls (cuSPARSE)"},
    Feature{"cub/", "library calls (CUB)"},
    Feature{"thrust/", "library calls (Thrust)"},
    Feature{"cutlass/", "library calls (CUTLASS)"},
    Feature{"cute/", "library calls (CuTe)"},
    Feature{"cuda/", "libcu++ (<cuda/...>)"},
    Feature{"cuda_fp8", "8-bit floating point (cuda_fp8.h)"},
    Feature{"cuda_pipeline", "asynchronous copies (pipeline)"},
    Feature{"cooperative_groups/scan", "cooperative_groups scans"},
    Feature{"cooperative_groups/memcpy_async",
            "asynchronous copies (memcpy_async)"},
};

}  // namespace

std::string UnsupportedFeature(const std::string& source) {
  if (RewritingSteps(Lex(source)) > kMaxSteps) {
    return "so many launches and shared variables in one source";
  }
  const Unit unit(source);
  for (size_t i = 0; i < unit.words().size(); ++i) {
    const Word& word = unit.words()[i];
    if (unit.StartsDirective(i) && unit.Text(i + 1) == "include" &&
        i + 2 < unit.words().size() &&
        unit.words()[i + 2].kind == Kind::kText) {
      const std::string name = unit.Text(i + 2).substr(1);
      for (const Feature& header : kHeaders) {
        if (name.rfind(header.word, 0) == 0) return header.message;
      }
    }
    if (word.directive || word.kind != Kind::kIdentifier) continue;
    const auto found =
        std::find_if(kFeatures.begin(), kFeatures.end(),
                     [&](const Feature& f) { return word.text == f.word; });
    if (found != kFeatures.end()) return found->message;
  }
  return "";
}

}  // namespace jaxkern
