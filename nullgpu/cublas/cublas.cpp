// Handles, and products of dense matrices, alone and in batches.

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cublas/product.h"

using nullgpu::cublas::product;

/// What cublasHandle_t points to. torch takes it for a handle of cublasLt as well, which never looks into it.
struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (nullgpu::configuration().faults.cublas) return CUBLAS_STATUS_ALLOC_FAILED;
  if (nullgpu::health() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void*, size_t) {
  return handle == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetMathMode(cublasHandle_t handle, cublasMath_t* mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *mode = handle->math;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->math = mode;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSgemm_v2(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int, const float*,
                              const float* a, int, const float* b, int, const float*, float* c, int) {
  return product(__func__, handle->stream, CUDA_R_32F, {a, b, c});
}

cublasStatus_t cublasDgemm_v2(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int, const double*,
                              const double* a, int, const double* b, int, const double*, double* c, int) {
  return product(__func__, handle->stream, CUDA_R_64F, {a, b, c});
}

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                            const void* a, cudaDataType, int, const void* b, cudaDataType, int, const void*, void* c,
                            cudaDataType type, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return product(__func__, handle->stream, type, {a, b, c});
}

cublasStatus_t cublasSgemmStridedBatched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int,
                                         const float*, const float* a, int, long long, const float* b, int, long long,
                                         const float*, float* c, int, long long, int) {
  return product(__func__, handle->stream, CUDA_R_32F, {a, b, c});
}

cublasStatus_t cublasDgemmStridedBatched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int,
                                         const double*, const double* a, int, long long, const double* b, int,
                                         long long, const double*, double* c, int, long long, int) {
  return product(__func__, handle->stream, CUDA_R_64F, {a, b, c});
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int,
                                          const void*, const void* a, cudaDataType, int, long long, const void* b,
                                          cudaDataType, int, long long, const void*, void* c, cudaDataType type, int,
                                          long long, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return product(__func__, handle->stream, type, {a, b, c});
}

}  // extern "C"
