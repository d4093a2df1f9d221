// Times a candidate without any of the evaluator's code.
//
//   timing_check        prints microseconds per launch, from graphs
//   timing_check COUNT  launches COUNT times, for a profiler
//
// One graph has ROUNDS times a write over four times the L2 cache, then the
// candidate; the other one the writes alone. The difference is the candidate's
// time from a cold cache, with one dependency between graph nodes.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "candidate.h"

namespace {

constexpr int kRounds = 20, kRepeats = 25;

void Check(int code, const char* what) {
  if (code == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what,
               cudaGetErrorString(static_cast<cudaError_t>(code)));
  std::exit(1);
}

float* Buffer(size_t count) {
  float* device = nullptr;
  std::vector<float> host(count);
  uint32_t state = 1;
  for (float& value : host) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / (1 << 23) - 1;
  }
  Check(cudaMalloc(&device, count * sizeof(float)), "cudaMalloc");
  Check(cudaMemcpy(device, host.data(), count * sizeof(float),
                   cudaMemcpyHostToDevice),
        "cudaMemcpy");
  return device;
}

struct Bench {
  std::vector<float*> inputs, outputs;
  cudaStream_t stream;
  void* flush = nullptr;
  size_t flush_bytes = 0;

  cudaGraphExec_t Capture(bool with_candidate) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed),
          "begin");
    for (int i = 0; i < kRounds; ++i) {
      Check(cudaMemsetAsync(flush, 0, flush_bytes, stream), "memset");
      if (with_candidate) Check(Call(inputs, outputs, stream), "launch");
    }
    Check(cudaStreamEndCapture(stream, &graph), "end");
    Check(cudaGraphInstantiate(&executable, graph, 0), "instantiate");
    return executable;
  }

  double Microseconds(cudaGraphExec_t graph) {
    cudaEvent_t start, stop;
    Check(cudaEventCreate(&start), "event");
    Check(cudaEventCreate(&stop), "event");
    Check(cudaEventRecord(start, stream), "record");
    Check(cudaGraphLaunch(graph, stream), "graph");
    Check(cudaEventRecord(stop, stream), "record");
    Check(cudaStreamSynchronize(stream), "synchronize");
    float milliseconds = 0;
    Check(cudaEventElapsedTime(&milliseconds, start, stop), "elapsed");
    return milliseconds * 1e3;
  }
};

}  // namespace

int main(int argc, char** argv) {
  Bench bench;
  Check(cudaStreamCreate(&bench.stream), "stream");
  for (size_t count : kInputs) bench.inputs.push_back(Buffer(count));
  for (size_t count : kOutputs) bench.outputs.push_back(Buffer(count));
  if (argc > 1) {
    for (int i = std::atoi(argv[1]); i > 0; --i) {
      Check(Call(bench.inputs, bench.outputs, bench.stream), "launch");
      Check(cudaStreamSynchronize(bench.stream), "synchronize");
    }
    return 0;
  }
  cudaDeviceProp properties;
  Check(cudaGetDeviceProperties(&properties, 0), "properties");
  bench.flush_bytes = size_t{4} * properties.l2CacheSize;
  Check(cudaMalloc(&bench.flush, bench.flush_bytes), "cudaMalloc");
  const cudaGraphExec_t with = bench.Capture(true);
  const cudaGraphExec_t without = bench.Capture(false);
  std::vector<double> differences;
  for (int i = -3; i < kRepeats; ++i) {
    const double a = bench.Microseconds(with), b = bench.Microseconds(without);
    if (i >= 0) differences.push_back((a - b) / kRounds);
  }
  std::nth_element(differences.begin(), differences.begin() + kRepeats / 2,
                   differences.end());
  std::printf("%.3f\n", differences[kRepeats / 2]);
  return 0;
}
