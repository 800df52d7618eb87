// cublasLtMatmul and the descriptors that it is told with. Of a descriptor nothing but the type of a matrix is read:
// the rest says how to compute.

#include <cublasLt.h>

#include "nullgpu/cublas/product.h"

namespace {

template <class Opaque>
cublasStatus_t create(Opaque** made) {
  if (made == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *made = new Opaque{};
  return CUBLAS_STATUS_SUCCESS;
}

template <class Opaque>
cublasStatus_t destroy(Opaque* made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

cudaDataType typeOf(cublasLtMatrixLayout_t layout) { return static_cast<cudaDataType>(layout->data[0]); }

}  // namespace

extern "C" {

size_t cublasLtGetVersion() { return CUBLAS_VERSION; }

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type, uint64_t, uint64_t,
                                          int64_t) {
  const cublasStatus_t status = create(layout);
  if (status == CUBLAS_STATUS_SUCCESS) (*layout)->data[0] = static_cast<uint64_t>(type);
  return status;
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return destroy(layout); }

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* descriptor, cublasComputeType_t, cudaDataType_t) {
  return create(descriptor);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t descriptor) { return destroy(descriptor); }

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) { return create(preference); }
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) { return destroy(preference); }

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t, int asked,
                                              cublasLtMatmulHeuristicResult_t results[], int* found) {
  if (asked <= 0 || results == nullptr || found == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
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
