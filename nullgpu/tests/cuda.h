#pragma once

// Helpers for tests of the runtime.

#include <cuda_runtime_api.h>

#include <atomic>
#include <memory>
#include <utility>
#include <vector>

#include "nullgpu/core/stream.h"
#include "nullgpu/tests/child.h"

extern "C" void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int);
extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*, dim3*,
                                       int*);

namespace nullgpu::testing {

/// Ends the child with the place of the call and its error.
inline void expect(cudaError_t error, const char* file, int line, const char* call) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s\n", file, line, call, cudaGetErrorName(error));
  std::exit(3);
}
#define OK(call) ::nullgpu::testing::expect(call, __FILE__, __LINE__, #call)

/// Holds a stream until it is opened.
class Gate {
 public:
  explicit Gate(cudaStream_t stream) {
    OK(enqueue(stream, std::make_shared<FunctionOperation>([open = open_] { return open->load(); })));
  }
  void open() { *open_ = true; }

 private:
  std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

inline cudaStream_t newStream(unsigned flags = cudaStreamNonBlocking) {
  cudaStream_t stream = nullptr;
  OK(cudaStreamCreateWithFlags(&stream, flags));
  return stream;
}
inline cudaEvent_t newEvent(unsigned flags = cudaEventDefault) {
  cudaEvent_t event = nullptr;
  OK(cudaEventCreateWithFlags(&event, flags));
  return event;
}
inline char* cardMemory(size_t bytes) {
  void* address = nullptr;
  OK(cudaMalloc(&address, bytes));
  return static_cast<char*>(address);
}
inline char* hostMemory(size_t bytes) {
  void* address = nullptr;
  OK(cudaHostAlloc(&address, bytes, cudaHostAllocDefault));
  return static_cast<char*>(address);
}

/// Notes the order in which streams reach certain points.
class Notes {
 public:
  void note(cudaStream_t stream, int number) {
    auto* entry = new Entry{this, number};
    OK(cudaLaunchHostFunc(stream, write, entry));
  }
  const std::vector<int>& order() const { return order_; }
  size_t place(int number) const {
    for (size_t at = 0; at < order_.size(); ++at)
      if (order_[at] == number) return at;
    return order_.size();
  }

 private:
  struct Entry {
    Notes* notes;
    int number;
  };
  static void write(void* data) {
    const std::unique_ptr<Entry> entry(static_cast<Entry*>(data));
    entry->notes->order_.push_back(entry->number);
  }
  std::vector<int> order_;
};

inline cudaError_t launchKernel(cudaStream_t stream) {
  static const char function = 0;
  static const bool registered = [] {
    __cudaRegisterFunction(nullptr, &function, nullptr, "_Z6kernelv", -1, nullptr, nullptr, nullptr, nullptr, nullptr);
    return true;
  }();
  return registered ? cudaLaunchKernel(&function, dim3(1), dim3(32), nullptr, 0, stream) : cudaErrorUnknown;
}

}  // namespace nullgpu::testing
