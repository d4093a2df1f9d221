// entry: 49
// like: captures its launches once and replays the graph for the same pointers (policy)
// task: add_relu
// device: both
// expect: ok
// repetitions: 20
// cpu: unsupported
__global__ void add_relu(const float* x, const float* z, float* y, int64_t n) {
  int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
  if (i < n) y[i] = fmaxf(x[i] + z[i], 0.0f);
}

extern "C" int launch(const float* x, const float* z, float* y, int64_t n,
                      cudaStream_t stream) {
  static cudaGraphExec_t graph = nullptr;
  static const void *of_x, *of_z, *of_y;
  static int64_t of_n = -1;
  if (x != of_x || z != of_z || y != of_y || n != of_n) {
    if (graph != nullptr) cudaGraphExecDestroy(graph);
    cudaStream_t own;
    cudaStreamCreateWithFlags(&own, cudaStreamNonBlocking);
    cudaStreamBeginCapture(own, cudaStreamCaptureModeRelaxed);
    add_relu<<<(n + 255) / 256, 256, 0, own>>>(x, z, y, n);
    cudaGraph_t captured;
    cudaStreamEndCapture(own, &captured);
    cudaGraphInstantiate(&graph, captured, 0);
    cudaGraphDestroy(captured);
    cudaStreamDestroy(own);
    of_x = x, of_z = z, of_y = y, of_n = n;
  }
  return cudaGraphLaunch(graph, stream);
}
