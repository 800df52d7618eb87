// cuBLAS: handles, and products of dense matrices, alone and in batches. A product is one launch of
// a null kernel (product.h); shapes, factors and leading dimensions are ignored, because nothing is
// computed. core/answer.h answers all other functions.

#include "nullgpu/core/answer.h"
#include "nullgpu/core/configuration.h"
#include "nullgpu/core/stream.h"
#include "nullgpu/cublas/product.h"

using nullgpu::cublas::product;

/// The target of cublasHandle_t. torch also passes it as a handle of cublasLt, which never looks
/// into it.
struct cublasContext : nullgpu::Handle {};

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (nullgpu::configuration().faults.cublas) return CUBLAS_STATUS_ALLOC_FAILED;
  if (nullgpu::health() != cudaSuccess) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasContext;
  return CUBLAS_STATUS_SUCCESS;
}

/// Defines a product and its batched form for one type of values.
#define NULLGPU_PRODUCTS(alone, batched, Value, type)                                                                 \
  cublasStatus_t alone(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int, const Value*,      \
                       const Value* a, int, const Value* b, int, const Value*, Value* c, int) {                       \
    return product(__func__, handle->stream, type, {a, b, c});                                                        \
  }                                                                                                                   \
  cublasStatus_t batched(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int, const Value*,    \
                         const Value* a, int, long long, const Value* b, int, long long, const Value*, Value* c, int, \
                         long long, int) {                                                                            \
    return product(__func__, handle->stream, type, {a, b, c});                                                        \
  }
NULLGPU_PRODUCTS(cublasSgemm_v2, cublasSgemmStridedBatched, float, CUDA_R_32F)
NULLGPU_PRODUCTS(cublasDgemm_v2, cublasDgemmStridedBatched, double, CUDA_R_64F)

cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int, const void*,
                            const void* a, cudaDataType, int, const void* b, cudaDataType, int, const void*, void* c,
                            cudaDataType type, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return product(__func__, handle->stream, type, {a, b, c});
}

cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t handle, cublasOperation_t, cublasOperation_t, int, int, int,
                                          const void*, const void* a, cudaDataType, int, long long, const void* b,
                                          cudaDataType, int, long long, const void*, void* c, cudaDataType type, int,
                                          long long, int, cublasComputeType_t, cublasGemmAlgo_t) {
  return product(__func__, handle->stream, type, {a, b, c});
}

}  // extern "C"
