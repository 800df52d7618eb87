#include "runtime/worker/device/cuda/copy_queue.h"

#include <ATen/ATen.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CachingHostAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <system_error>
#include <utility>

namespace expc::device {
namespace {

using at::cuda::CUDAEvent;

class CudaCopyQueue final : public CopyQueue {
 public:
  CudaCopyQueue(c10::DeviceIndex index, bool beside)
      : index_(index), beside_(beside), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index)) {}

  /// By hand and not with copy_, which looks a pinned block up by the pointer that its allocator gave out: that of a
  /// batch may lie in the middle of one. cudaMemcpyAsync is asynchronous for pinned memory and waits for other.
  at::Tensor copy(const at::Tensor& host) override {
    const c10::cuda::CUDAStreamGuard guard(own());
    at::Tensor result = at::empty_strided(host.sizes(), host.strides(), host.options().device(c10::kCUDA, index_));
    C10_CUDA_CHECK(cudaMemcpyAsync(result.data_ptr(), host.const_data_ptr(), result.nbytes(), cudaMemcpyHostToDevice,
                                   own().stream()));
    return result;
  }
  void within(const std::function<void()>& body) override {
    const c10::cuda::CUDAStreamGuard guard(own());
    body();
  }
  Mark mark() override {
    auto event = std::make_shared<CUDAEvent>(cudaEventDisableTiming);
    event->record(own());
    return event;
  }
  void handOver(const Mark& mark, const std::vector<at::Tensor>& tensors) override {
    if (!beside_) return;
    const auto computing = c10::cuda::getCurrentCUDAStream(index_);
    eventOf(mark).block(computing);
    // Their memory came from the other stream: it must not be given to a later copy while a kernel reads it.
    for (const at::Tensor& tensor : tensors) tensor.record_stream(computing);
  }
  bool reached(const Mark& mark) override { return eventOf(mark).query(); }
  void wait(const Mark& mark) override { eventOf(mark).synchronize(); }

 private:
  static CUDAEvent& eventOf(const Mark& mark) { return *static_cast<CUDAEvent*>(mark.get()); }
  c10::cuda::CUDAStream own() const { return beside_ ? stream_ : c10::cuda::getCurrentCUDAStream(index_); }

  c10::DeviceIndex index_;
  bool beside_;
  c10::cuda::CUDAStream stream_;
};

}  // namespace

std::unique_ptr<CopyQueue> makeCudaCopyQueue(c10::DeviceIndex index, bool beside) {
  return std::make_unique<CudaCopyQueue>(index, beside);
}

std::shared_ptr<void> cudaPinnedMemory(size_t bytes) {
  // An allocation that fails is the loader's to explain.
  try {
    auto block = std::make_shared<at::DataPtr>(at::getHostAllocator(at::kCUDA)->allocate(bytes));
    return {block, block->get()};  // page-aligned
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // namespace expc::device
