// cublasLt: cublasLtMatmul and the descriptors that it needs. The only thing read from any
// descriptor is the type of a matrix, which names the kernel; everything else says how to compute.

#include <cublasLt.h>

#include "nullgpu/cublas/product.h"

namespace {

/// Gives the one object that serves all descriptors of a kind, since nothing is ever read from
/// them.
template <class Opaque>
cublasStatus_t create(Opaque** made) {
  static Opaque all{};
  if (!made) return CUBLAS_STATUS_INVALID_VALUE;
  *made = &all;
  return CUBLAS_STATUS_SUCCESS;
}

/// The type that cublasLtMatrixLayoutCreate() below has stored in the opaque layout.
cudaDataType typeOf(cublasLtMatrixLayout_t layout) { return static_cast<cudaDataType>(layout->data[0]); }

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t, uint64_t,
                                          int64_t) {
  if (!layout) return CUBLAS_STATUS_INVALID_VALUE;
  *layout = new cublasLtMatrixLayoutOpaque_t{{uint64_t(type)}};
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t, cudaDataType_t) {
  return create(descriptor);
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) { return create(preference); }

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int asked,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  // One algorithm, which needs no workspace, satisfies every caller.
  if (asked <= 0 || !results || !found) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1;
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t, const void*, const void* a,
                              cublasLtMatrixLayout_t, const void* b, cublasLtMatrixLayout_t, const void*, const void* c,
                              cublasLtMatrixLayout_t, void* d, cublasLtMatrixLayout_t layout,
                              const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t stream) {
  return nullgpu::cublas::product(__func__, stream, typeOf(layout), {a, b, c, d});
}

}  // extern "C"
