#include "runtime/worker/device/cuda/cuda_graph.h"

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include "runtime/worker/comm/failure.h"

namespace expc::device {
namespace {

/// Whether recording is what failed: the device still takes work, and what was missing is not memory or a rank.
bool cannotBeRecorded(const std::exception& error, cudaStream_t stream) {
  const comm::Failure failure = comm::failureOf(error);
  if (failure != comm::Failure::Device && failure != comm::Failure::Other) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess;
}

class CudaGraph final : public Graph {
 public:
  CudaGraph(c10::DeviceIndex index, AllocatorPeaks& peaks)
      : peaks_(peaks), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index)) {}

  void record(const std::function<void()>& body) override {
    peaks_.beginPart();
    // The blocks that the body used last belong to the stream and are of no use to the graph.
    c10::cuda::CUDACachingAllocator::emptyCache();
    try {
      // Other threads copy batches and make page-locked memory meanwhile.
      graph_.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
      body();
      graph_.capture_end();
      C10_CUDA_CHECK(cudaGraphGetNodes(graph_.raw_cuda_graph(), nullptr, &nodes_));
      graph_.instantiate();
    } catch (const std::exception& error) {
      if (!cannotBeRecorded(error, stream_.current_stream().stream())) throw;
      throw NotRecorded(comm::firstLineOf(error));
    }
    recorded_ = peaks_.part();
  }

  void launch() override {
    graph_.replay();
    peaks_.note(recorded_);
  }

  std::function<bool()> ended() override {
    auto event = std::make_shared<at::cuda::CUDAEvent>(cudaEventDisableTiming);
    event->record(stream_.current_stream());
    return [event] { return event->query(); };
  }

  size_t nodes() const override { return nodes_; }

 private:
  AllocatorPeaks& peaks_;
  c10::cuda::CUDAStreamGuard stream_;
  at::cuda::CUDAGraph graph_{/*keep_graph=*/true};
  size_t nodes_ = 0;
  MemoryPeaks recorded_;  // while it was recorded
};

}  // namespace

std::unique_ptr<Graph> makeCudaGraph(c10::DeviceIndex index, AllocatorPeaks& peaks) {
  return std::make_unique<CudaGraph>(index, peaks);
}

}  // namespace expc::device
