// Descriptors of tensors, filters, convolutions and activations: made, filled and destroyed. Nothing reads what they
// say.

#include "nullgpu/cudnn/abi.h"

using nullgpu::cudnn::Status;

namespace {

struct Shape {};

Status create(Shape** shape) {
  if (shape == nullptr) return Status::NullPointer;
  *shape = new Shape;
  return Status::Success;
}

Status destroy(Shape* shape) {
  delete shape;
  return Status::Success;
}

}  // namespace

extern "C" {

Status cudnnCreateTensorDescriptor(Shape** shape) { return create(shape); }
Status cudnnDestroyTensorDescriptor(Shape* shape) { return destroy(shape); }
Status cudnnSetTensorNdDescriptor(Shape*, ...) { return Status::Success; }
Status cudnnCreateFilterDescriptor(Shape** shape) { return create(shape); }
Status cudnnDestroyFilterDescriptor(Shape* shape) { return destroy(shape); }
Status cudnnSetFilterNdDescriptor(Shape*, ...) { return Status::Success; }
Status cudnnCreateConvolutionDescriptor(Shape** shape) { return create(shape); }
Status cudnnDestroyConvolutionDescriptor(Shape* shape) { return destroy(shape); }
Status cudnnCreateActivationDescriptor(Shape** shape) { return create(shape); }
Status cudnnDestroyActivationDescriptor(Shape* shape) { return destroy(shape); }
Status cudnnSetActivationDescriptor(Shape*, ...) { return Status::Success; }

}  // extern "C"
