#pragma once

// A product of matrices as the null GPU does it. Shared by cuBLAS and cublasLt.

#include <cublas_api.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "nullgpu/core/memory.h"
#include "nullgpu/core/stream.h"

namespace nullgpu::cublas {

/// What a profile calls a product whose result has that type. Static storage.
inline std::string_view productName(cudaDataType type) {
  return type == CUDA_R_16BF  ? "cublas_null_gemm_bf16"
         : type == CUDA_R_16F ? "cublas_null_gemm_f16"
         : type == CUDA_R_32F ? "cublas_null_gemm_f32"
         : type == CUDA_R_64F ? "cublas_null_gemm_f64"
                              : "cublas_null_gemm";
}

/// Queues one. A matrix in the host's memory, which a kernel could not read, ends the process with `call`'s name.
inline cublasStatus_t product(const char* call, cudaStream_t stream, cudaDataType type,
                              std::initializer_list<const void*> matrices) {
  for (const void* matrix : matrices) {
    if (matrix == nullptr || cardOf(matrix).has_value()) continue;
    std::fprintf(stderr, "nullgpu: %s is given a matrix at %p, which is no card's memory\n", call, matrix);
    std::abort();
  }
  return launch(stream, productName(type)) == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace nullgpu::cublas
