// Recurrent layers of cuDNN, and the descriptors of tensors through which torch asks where the
// weights of such a layer lie. torch copies a layer's parameters into one buffer in cuDNN's order:
// for each layer and direction all matrices on the input, all on the state, and the projection;
// the biases of all layers follow. Matrices of a kind must be contiguous.

#include <algorithm>
#include <array>
#include <cstdint>

#include "nullgpu/cudnn/handle.h"

using namespace nullgpu::cudnn;

namespace {

/// The target of cudnnTensorDescriptor_t.
struct Tensor {
  int type = 0, count = 0;
  std::array<int, 8> sizes{}, strides{};
};

/// The target of cudnnRNNDescriptor_t.
struct Layers {
  int gates = 0;  // matrices on the input of one layer, as many as on the state
  bool has_bias = false;
  int directions = 1, type = 0;
  int64_t input = 0, hidden = 0, projected = 0, layers = 0;

  bool projects() const { return projected != hidden; }
  /// Numbers of a row of the matrices on the input, for one layer and direction.
  int64_t inputOf(int64_t pseudo) const { return pseudo < directions ? input : projected * directions; }
  /// Numbers before the matrices of one layer and direction.
  int64_t matricesBefore(int64_t pseudo) const {
    int64_t numbers = 0;
    for (int64_t each = 0; each < pseudo; ++each)
      numbers += gates * hidden * (inputOf(each) + projected) + (projects() ? projected * hidden : 0);
    return numbers;
  }
  int64_t biasesBefore(int64_t pseudo) const { return has_bias ? 2 * gates * hidden * pseudo : 0; }
  int64_t all() const { return matricesBefore(layers * directions) + biasesBefore(layers * directions); }
  /// Bytes of a number, by cudnnDataType_t: double is 1; half and bfloat16 are 2 and 9.
  int64_t bytes() const { return type == 1 ? 8 : type == 2 || type == 9 ? 2 : 4; }
};

/// Describes a matrix with `rows` and `columns`, as cuDNN does it with three dimensions.
void describe(Tensor& tensor, const Layers& of, int64_t rows, int64_t columns) {
  tensor = {of.type, 3, {1, int(rows), int(columns)}, {int(rows * columns), int(columns), 1}};
}

}  // namespace

extern "C" {

Status cudnnCreateTensorDescriptor(Tensor** descriptor) { return give(descriptor, new Tensor); }
Status cudnnDestroyTensorDescriptor(Tensor* descriptor) {
  delete descriptor;
  return Status::Success;
}
Status cudnnSetTensorNdDescriptor(Tensor* tensor, int type, int count, const int* sizes, const int* strides) {
  if (!tensor || !sizes || !strides) return Status::NullPointer;
  tensor->type = type;
  tensor->count = std::min(count, int(tensor->sizes.size()));
  std::copy_n(sizes, tensor->count, tensor->sizes.begin());
  std::copy_n(strides, tensor->count, tensor->strides.begin());
  return Status::Success;
}
Status cudnnGetTensorNdDescriptor(const Tensor* tensor, int asked, int* type, int* count, int* sizes, int* strides) {
  if (!tensor) return Status::NullPointer;
  *type = tensor->type;
  *count = tensor->count;
  std::copy_n(tensor->sizes.begin(), std::min(asked, tensor->count), sizes);
  std::copy_n(tensor->strides.begin(), std::min(asked, tensor->count), strides);
  return Status::Success;
}

Status cudnnCreateRNNDescriptor(Layers** descriptor) { return give(descriptor, new Layers); }
Status cudnnDestroyRNNDescriptor(Layers* descriptor) {
  delete descriptor;
  return Status::Success;
}
/// Cells are 2 for LSTM, with four gates, and 3 for GRU, with three. Bias 0 is none.
Status cudnnSetRNNDescriptor_v8(Layers* layers, int, int cell, int bias, int direction, int, int type, int, int,
                                int32_t input, int32_t hidden, int32_t projected, int32_t count, void*, uint32_t) {
  if (!layers) return Status::NullPointer;
  *layers = {cell == 2 ? 4 : cell == 3 ? 3 : 1, bias != 0, direction + 1, type, input, hidden, projected, count};
  return Status::Success;
}
Status cudnnGetRNNTempSpaceSizes(Handle*, Layers*, int, void*, size_t* work, size_t* reserve) {
  // torch asks for one of them at a time.
  for (size_t* size : {work, reserve})
    if (size) *size = kReserve;
  return Status::Success;
}
Status cudnnGetRNNWeightSpaceSize(Handle*, const Layers* layers, size_t* size) {
  return layers ? give(size, size_t(layers->all() * layers->bytes())) : Status::NullPointer;
}
/// Tells where one matrix and its bias lie in the buffer. `linear` numbers the gates on the input,
/// then those on the state, then the projection, which has no bias. torch asks for one of both.
Status cudnnGetRNNWeightParams(Handle*, const Layers* layers, int32_t pseudo, size_t, char* weights, int32_t linear,
                               Tensor* matrix, void** matrix_at, Tensor* bias, void** bias_at) {
  if (!layers) return Status::NullPointer;
  const Layers& of = *layers;
  const int64_t input = of.inputOf(pseudo);
  const bool is_projection = linear == 2 * of.gates, is_on_state = linear >= of.gates;
  const int64_t on_input = std::min(linear, of.gates), on_state = std::max(linear - of.gates, 0);
  const int64_t before = of.matricesBefore(pseudo) + of.hidden * (on_input * input + on_state * of.projected);
  const int64_t biases = of.matricesBefore(of.layers * of.directions) + of.biasesBefore(pseudo) + linear * of.hidden;
  if (matrix) {
    describe(*matrix, of, is_projection ? of.projected : of.hidden,
             is_projection ? of.hidden
             : is_on_state ? of.projected
                           : input);
    *matrix_at = weights + before * of.bytes();
  }
  if (bias) {
    describe(*bias, of, of.hidden, 1);
    *bias_at = of.has_bias && !is_projection ? weights + biases * of.bytes() : nullptr;
  }
  return Status::Success;
}

}  // extern "C"
