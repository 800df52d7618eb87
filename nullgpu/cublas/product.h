#pragma once

// A matrix product on a null GPU, shared by cuBLAS and cublasLt: a check that all matrices are in a
// card's memory, and a launch named after the type of the result.

#include <cublas_api.h>

#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "nullgpu/core/memory.h"
#include "nullgpu/core/stream.h"

namespace nullgpu::cublas {

/// The name of the kernel in a profile, by the type of the result. Static storage.
inline std::string_view productName(cudaDataType type) {
  return type == CUDA_R_16BF  ? "cublas_null_gemm_bf16"
         : type == CUDA_R_16F ? "cublas_null_gemm_f16"
         : type == CUDA_R_32F ? "cublas_null_gemm_f32"
         : type == CUDA_R_64F ? "cublas_null_gemm_f64"
                              : "cublas_null_gemm";
}

/// Queues a product. A real kernel would fault on a matrix in the host's memory, and its error
/// would appear somewhere later; here the process ends at once with the name of the function,
/// `call`. Null matrices are allowed.
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
