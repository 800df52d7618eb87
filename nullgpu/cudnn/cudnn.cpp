// cuDNN: handles, kernels of layers, and the backend interface through which torch runs
// convolutions and attention. cuDNN's headers are not needed: the few numbers of its binary
// interface stand below. Recurrent layers keep their weights in rnn.cpp. torch describes a graph of operations by
// descriptors, asks for engines, builds a plan and executes it; here every graph has one engine, and a plan is one
// launch named after its operations.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "nullgpu/core/configuration.h"
#include "nullgpu/cudnn/handle.h"

using namespace nullgpu::cudnn;

namespace {

// The numbers that cuDNN 9's headers give to kinds of descriptors and attributes, as far as they are used.

/// cudnnBackendDescriptorType_t, as far as names depend on it.
enum class DescriptorType : int {
  ConvolutionForward = 10,
  ConvolutionBackwardFilter = 11,
  ConvolutionBackwardData = 12,
  Matmul = 19,
};

/// cudnnBackendAttributeName_t, as far as torch asks for or sets them.
enum class Attribute : int {
  HeuristicsResults = 202,
  ConfigurationEngine = 300,
  ConfigurationKnobs = 302,
  ConfigurationWorkspace = 303,
  ConfigurationSharedMemory = 304,
  PlanWorkspace = 402,
  GraphOperations = 801,
  GraphEngineCount = 802,
  EngineIndex = 1301,
  EngineKnobs = 1302,
  EngineNumericalNotes = 1303,
  EngineBehaviourNotes = 1305,
};

/// cudnnBackendAttributeType_t; all other types carry numbers, which are ignored.
enum class AttributeType : int { Descriptor = 15 };

/// The target of cudnnBackendDescriptor_t. Descriptors form a tree: a plan over a configuration
/// over an engine over a graph of operations. Each copies the operations found below it, and
/// nothing else matters.
struct Descriptor {
  DescriptorType type{};
  std::vector<DescriptorType> operations;
};

/// A graph with one of these operations is named after it, whatever else it fuses.
constexpr std::pair<DescriptorType, std::string_view> kConvolutions[] = {
    {DescriptorType::ConvolutionForward, "cudnn_null_convolution_forward"},
    {DescriptorType::ConvolutionBackwardFilter, "cudnn_null_convolution_backward_filter"},
    {DescriptorType::ConvolutionBackwardData, "cudnn_null_convolution_backward_data"},
};

/// The name for a graph without convolutions. Attention has two products forward and five backward,
/// among many other operations.
std::string_view nameByProducts(size_t products) {
  constexpr std::string_view kNames[] = {"cudnn_null_graph", "cudnn_null_matmul", "cudnn_null_attention_forward",
                                         "cudnn_null_attention_backward"};
  return kNames[std::min(products, std::size(kNames) - 1)];
}

/// The name of a plan's kernel in a profile, by the operations of its graph. Static storage.
std::string_view kernelName(const Descriptor& plan) {
  for (const auto& [convolution, name] : kConvolutions)
    if (std::ranges::find(plan.operations, convolution) != plan.operations.end()) return name;
  return nameByProducts(size_t(std::ranges::count(plan.operations, DescriptorType::Matmul)));
}

/// Answers with one descriptor, which inherits the operations of the one asked. A caller that asks
/// for none gets only the number.
Status answer(const Descriptor& asked_for, int64_t asked, int64_t* found, void* array) {
  if (found) *found = 1;
  if (asked > 0 && array) static_cast<Descriptor**>(array)[0]->operations = asked_for.operations;
  return Status::Success;
}

/// Answers with one number.
Status answer(int64_t number, int64_t asked, int64_t* found, void* array) {
  if (found) *found = 1;
  if (asked > 0 && array) static_cast<int64_t*>(array)[0] = number;
  return Status::Success;
}

/// Ends the process: silence about an unknown attribute would let torch go on with garbage.
[[noreturn]] void unwritten(Attribute attribute) {
  std::fprintf(
      stderr,
      "nullgpu: cudnnBackendGetAttribute is asked for attribute %d, which the null GPU does not know: write it in "
      "nullgpu/cudnn/cudnn.cpp\n",
      int(attribute));
  std::abort();
}

}  // namespace

extern "C" {

// MAJOR * 10000 + MINOR * 100 + PATCH. torch chooses by it between cuDNN's attention and others.
// The number comes from the build.
size_t cudnnGetVersion() { return NULLGPU_CUDNN_VERSION; }
/// A part of the version: 0 the major, 1 the minor, 2 the patch.
Status cudnnGetProperty(int part, int* value) {
  constexpr int kParts[] = {NULLGPU_CUDNN_VERSION / 10000, NULLGPU_CUDNN_VERSION / 100 % 100,
                            NULLGPU_CUDNN_VERSION % 100};
  return part < 0 || part > 2 ? Status::BadParameter : give(value, kParts[part]);
}
size_t cudnnGetCudartVersion() { return 13000; }

const char* cudnnGetErrorString(Status status) {
  static constexpr std::pair<Status, const char*> kNames[] = {
      {Status::Success, "CUDNN_STATUS_SUCCESS"},
      {Status::BadParameter, "CUDNN_STATUS_BAD_PARAM"},
      {Status::NullPointer, "CUDNN_STATUS_BAD_PARAM_NULL_POINTER"},
      {Status::NotSupported, "CUDNN_STATUS_NOT_SUPPORTED"},
      {Status::DeviceAllocationFailed, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED"},
      {Status::ExecutionFailed, "CUDNN_STATUS_EXECUTION_FAILED"},
  };
  for (const auto& [known, name] : kNames)
    if (known == status) return name;
  return "CUDNN_STATUS_INTERNAL_ERROR";
}

void cudnnGetLastErrorString(char* message, size_t size) {
  if (message && size > 0) std::snprintf(message, size, "the null GPU says no more than the status");
}

// The fault gives the status with which cuDNN 9 says that it has no memory for a handle.
Status cudnnCreate(Handle** handle) {
  if (!handle) return Status::NullPointer;
  if (nullgpu::configuration().faults.cudnn) return Status::DeviceAllocationFailed;
  if (nullgpu::health() != cudaSuccess) return Status::ExecutionFailed;
  *handle = new Handle;
  return Status::Success;
}

Status cudnnDestroy(Handle* handle) {
  delete handle;
  return Status::Success;
}

Status cudnnSetStream(Handle* handle, cudaStream_t stream) {
  if (!handle) return Status::NullPointer;
  handle->stream = stream;
  return Status::Success;
}

Status cudnnGetStream(Handle* handle, cudaStream_t* stream) {
  return handle ? give(stream, handle->stream) : Status::NullPointer;
}

// Functions that compute look only at the handle, so their other parameters are left out; the C
// calling convention allows it.
#define NULLGPU_KERNEL(name, kernel) \
  Status name(Handle* handle, ...) { return launch(handle, "cudnn_null_" kernel); }
NULLGPU_KERNEL(cudnnBatchNormalizationForwardTrainingEx, "batch_norm_forward")
NULLGPU_KERNEL(cudnnBatchNormalizationBackwardEx, "batch_norm_backward")
NULLGPU_KERNEL(cudnnBatchNormalizationForwardInference, "batch_norm_inference")
NULLGPU_KERNEL(cudnnRNNForward, "rnn_forward")
NULLGPU_KERNEL(cudnnRNNBackwardData_v8, "rnn_backward_data")
NULLGPU_KERNEL(cudnnRNNBackwardWeights_v8, "rnn_backward_weights")
NULLGPU_KERNEL(cudnnCTCLoss, "ctc_loss")
NULLGPU_KERNEL(cudnnCTCLoss_v8, "ctc_loss")
NULLGPU_KERNEL(cudnnSpatialTfGridGeneratorForward, "grid_forward")
NULLGPU_KERNEL(cudnnSpatialTfGridGeneratorBackward, "grid_backward")
NULLGPU_KERNEL(cudnnSpatialTfSamplerForward, "sampler_forward")
NULLGPU_KERNEL(cudnnSpatialTfSamplerBackward, "sampler_backward")

// Objects that nobody reads.
#define NULLGPU_OBJECT(name)             \
  Status name(Descriptor** descriptor) { \
    static Descriptor all;               \
    return give(descriptor, &all);       \
  }
NULLGPU_OBJECT(cudnnCreateDropoutDescriptor)
NULLGPU_OBJECT(cudnnCreateRNNDataDescriptor)
NULLGPU_OBJECT(cudnnCreateCTCLossDescriptor)
NULLGPU_OBJECT(cudnnCreateSpatialTransformerDescriptor)

/// Dropout keeps the states of a generator, which a kernel fills.
Status cudnnDropoutGetStatesSize(Handle*, size_t* size) { return give(size, kReserve); }
Status cudnnSetDropoutDescriptor(Descriptor*, Handle* handle, ...) {
  return launch(handle, "cudnn_null_dropout_states");
}

Status cudnnGetCTCLossWorkspaceSize(Handle*, void*, void*, void*, void*, void*, int, void*, size_t* size) {
  return give(size, kReserve);
}
Status cudnnGetCTCLossWorkspaceSize_v8(Handle*, int, void*, void*, void*, size_t* size) { return give(size, kReserve); }

// Batch normalisation: no workspace, and a reserve for the backward pass.
Status cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(Handle*, int, int, void*, void*, void*, void*, void*,
                                                                size_t* size) {
  return give(size, size_t{0});
}
Status cudnnGetBatchNormalizationBackwardExWorkspaceSize(Handle*, int, int, void*, void*, void*, void*, void*, void*,
                                                         void*, size_t* size) {
  return give(size, size_t{0});
}
Status cudnnGetBatchNormalizationTrainingExReserveSpaceSize(Handle*, int, int, void*, void*, size_t* size) {
  return give(size, kReserve);
}

// The backend interface: every graph has one engine, which needs no workspace.

Status cudnnBackendCreateDescriptor(DescriptorType type, Descriptor** descriptor) {
  if (!descriptor) return Status::NullPointer;
  *descriptor = new Descriptor{type, {}};
  return Status::Success;
}

Status cudnnBackendDestroyDescriptor(Descriptor* descriptor) {
  delete descriptor;
  return Status::Success;
}

Status cudnnBackendSetAttribute(Descriptor* descriptor, Attribute attribute, AttributeType type, int64_t count,
                                const void* array) {
  if (!descriptor) return Status::NullPointer;
  // Numbers and enumerations say how to compute. Only descriptors lead to operations.
  if (type != AttributeType::Descriptor) return Status::Success;
  std::vector<DescriptorType> below;
  for (int64_t i = 0; i < count; ++i) {
    const Descriptor* each = static_cast<Descriptor* const*>(array)[i];
    if (!each) return Status::NullPointer;
    below.insert(below.end(), each->operations.begin(), each->operations.end());
    // The graph's own operations have nothing below them; their types are what we collect.
    if (attribute == Attribute::GraphOperations) below.push_back(each->type);
  }
  // A descriptor without operations below, such as a tensor's, must not erase what another
  // attribute brought.
  if (!below.empty()) descriptor->operations = std::move(below);
  return Status::Success;
}

Status cudnnBackendGetAttribute(Descriptor* descriptor, Attribute attribute, AttributeType, int64_t asked,
                                int64_t* found, void* array) {
  if (!descriptor) return Status::NullPointer;
  switch (attribute) {
    case Attribute::HeuristicsResults:
    case Attribute::ConfigurationEngine:
      return answer(*descriptor, asked, found, array);
    case Attribute::GraphEngineCount:
      return answer(1, asked, found, array);
    case Attribute::ConfigurationWorkspace:
    case Attribute::ConfigurationSharedMemory:
    case Attribute::PlanWorkspace:
    case Attribute::EngineIndex:
      return answer(int64_t{0}, asked, found, array);
    case Attribute::ConfigurationKnobs:
    case Attribute::EngineKnobs:
    case Attribute::EngineNumericalNotes:
    case Attribute::EngineBehaviourNotes:
      if (found) *found = 0;
      return Status::Success;
    default:
      unwritten(attribute);
  }
}

Status cudnnBackendExecute(Handle* handle, Descriptor* plan, Descriptor* variants) {
  if (!plan || !variants) return Status::NullPointer;
  return launch(handle, kernelName(*plan));
}

}  // extern "C"
