// Products of dense matrices, alone and in batches.

#include "nullgpu/cublas/handle.h"
#include "nullgpu/cublas/product.h"

using nullgpu::cublas::product;

extern "C" {

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
