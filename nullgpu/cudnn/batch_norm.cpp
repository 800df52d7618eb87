// Batch normalisation, which needs no workspace, a reserve that its backward pass is handed, and descriptors of
// tensors, which nothing reads.

#include "nullgpu/core/stream.h"
#include "nullgpu/cudnn/abi.h"

using nullgpu::cudnn::Handle;
using nullgpu::cudnn::Status;

namespace {

struct TensorDescriptor {};

constexpr size_t kReserve = 1024;  // bytes; not 0, so that callers allocate it as they do for cuDNN

Status launch(Handle* handle, std::string_view name) {
  if (handle == nullptr) return Status::NullPointer;
  return nullgpu::cudnn::statusOf(nullgpu::launch(handle->stream, name));
}

Status answer(size_t bytes, size_t* size) {
  if (size == nullptr) return Status::NullPointer;
  *size = bytes;
  return Status::Success;
}

}  // namespace

// Of a call that computes, only the handle is looked at, so the rest of its parameters is not written out.
extern "C" {

Status cudnnCreateTensorDescriptor(TensorDescriptor** descriptor) {
  if (descriptor == nullptr) return Status::NullPointer;
  *descriptor = new TensorDescriptor;
  return Status::Success;
}
Status cudnnDestroyTensorDescriptor(TensorDescriptor* descriptor) {
  delete descriptor;
  return Status::Success;
}
Status cudnnSetTensorNdDescriptor(TensorDescriptor*, ...) { return Status::Success; }

Status cudnnBatchNormalizationForwardTrainingEx(Handle* handle, ...) {
  return launch(handle, "cudnn_null_batch_norm_forward");
}
Status cudnnBatchNormalizationBackwardEx(Handle* handle, ...) {
  return launch(handle, "cudnn_null_batch_norm_backward");
}
Status cudnnBatchNormalizationForwardInference(Handle* handle, ...) {
  return launch(handle, "cudnn_null_batch_norm_inference");
}

Status cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(Handle*, int, int, void*, void*, void*, void*, void*,
                                                                size_t* size) {
  return answer(0, size);
}
Status cudnnGetBatchNormalizationBackwardExWorkspaceSize(Handle*, int, int, void*, void*, void*, void*, void*, void*,
                                                         void*, size_t* size) {
  return answer(0, size);
}
Status cudnnGetBatchNormalizationTrainingExReserveSpaceSize(Handle*, int, int, void*, void*, size_t* size) {
  return answer(kReserve, size);
}

}  // extern "C"
