#pragma once

// What is needed of cuDNN 9's binary interface: the numbers that its headers give to statuses, types of descriptors and
// attributes, and the shape of a handle.

#include <driver_types.h>

namespace nullgpu::cudnn {

enum class Status : int {
  Success = 0,
  BadParameter = 2000,
  NullPointer = 2002,
  NotSupported = 3000,
  DeviceAllocationFailed = 4004,  // cuDNN 8 and before: ALLOC_FAILED
  ExecutionFailed = 5000,
};

/// cudnnHandle_t points to one.
struct Handle {
  cudaStream_t stream = nullptr;
};

/// cudnnBackendDescriptorType_t.
enum class DescriptorType : int {
  Engine = 2,
  EngineConfiguration = 3,
  Heuristics = 4,
  Plan = 5,
  ConvolutionForward = 10,
  ConvolutionBackwardFilter = 11,
  ConvolutionBackwardData = 12,
  OperationGraph = 15,
  Matmul = 19,
};

/// cudnnBackendAttributeName_t.
enum class Attribute : int {
  HeuristicsGraph = 201,
  HeuristicsResults = 202,
  ConfigurationEngine = 300,
  ConfigurationKnobs = 302,
  ConfigurationWorkspace = 303,
  ConfigurationSharedMemory = 304,
  PlanConfiguration = 401,
  PlanWorkspace = 402,
  GraphOperations = 801,
  GraphEngineCount = 802,
  EngineGraph = 1300,
  EngineIndex = 1301,
  EngineKnobs = 1302,
  EngineNumericalNotes = 1303,
  EngineBehaviourNotes = 1305,
};

/// cudnnBackendAttributeType_t.
enum class AttributeType : int { Int64 = 3, Descriptor = 15 };

/// The status of cuDNN for what the runtime answered.
inline Status statusOf(cudaError_t error) { return error == cudaSuccess ? Status::Success : Status::ExecutionFailed; }

}  // namespace nullgpu::cudnn
