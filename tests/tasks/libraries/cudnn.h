// As much of cuDNN as our baselines call; see cublas_v2.h.
struct Matrix {
  int n, c;
};
typedef int* cudnnHandle_t;
typedef Matrix* cudnnTensorDescriptor_t;
enum cudnnStatus_t { CUDNN_STATUS_SUCCESS, CUDNN_STATUS_BAD_PARAM = 2000 };
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW };
enum cudnnDataType_t { CUDNN_DATA_FLOAT };
enum cudnnSoftmaxAlgorithm_t {
  CUDNN_SOFTMAX_FAST,
  CUDNN_SOFTMAX_ACCURATE,
  CUDNN_SOFTMAX_LOG
};
enum cudnnSoftmaxMode_t { CUDNN_SOFTMAX_MODE_INSTANCE };

static cudaStream_t cudnn_stream;

static cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = new int(1);
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete handle;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* to) {
  *to = new Matrix();
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t d) {
  delete d;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) {
  cudnn_stream = stream;
  return CUDNN_STATUS_SUCCESS;
}
static cudnnStatus_t cudnnSetTensor4dDescriptor(cudnnTensorDescriptor_t to,
                                                cudnnTensorFormat_t,
                                                cudnnDataType_t, int n, int c,
                                                int h, int w) {
  *to = {n, c * h * w};
  return CUDNN_STATUS_SUCCESS;
}

__global__ void cudnn_softmax(bool log, int n, int c, const float* x,
                              float* y) {
  for (int r = 0; r < n; ++r) {
    float most = -INFINITY, sum = 0;
    for (int i = 0; i < c; ++i) most = fmaxf(most, x[r * c + i]);
    for (int i = 0; i < c; ++i) sum += expf(x[r * c + i] - most);
    for (int i = 0; i < c; ++i) {
      float v = x[r * c + i] - most;
      y[r * c + i] = log ? v - logf(sum) : expf(v) / sum;
    }
  }
}

static cudnnStatus_t cudnnSoftmaxForward(
    cudnnHandle_t handle, cudnnSoftmaxAlgorithm_t algorithm, cudnnSoftmaxMode_t,
    const float* alpha, cudnnTensorDescriptor_t in, const float* x,
    const float* beta, cudnnTensorDescriptor_t out, float* y) {
  if (!handle || *alpha != 1 || *beta != 0 || in->n != out->n) {
    return CUDNN_STATUS_BAD_PARAM;
  }
  cudnn_softmax<<<1, 1, 0, cudnn_stream>>>(algorithm == CUDNN_SOFTMAX_LOG,
                                           in->n, in->c, x, y);
  return CUDNN_STATUS_SUCCESS;
}
