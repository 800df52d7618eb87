#pragma once

#include <cublas_api.h>

/// What cublasHandle_t points to. torch takes it for a handle of cublasLt as well, which never looks into it.
struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasMath_t math = CUBLAS_DEFAULT_MATH;
};
