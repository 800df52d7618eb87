#include "runtime/worker/device/cuda/cuda_graph.h"

#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "runtime/worker/comm/failure.h"

namespace expc::device {
namespace {

/// Whether recording is what failed: the device still takes work, and what was missing is not memory or a rank.
bool cannotBeRecorded(const std::exception& error, cudaStream_t stream) {
  const comm::Failure failure = comm::failureOf(error);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) return false;
  // NCCL words a call that a recording forbids as it words a lost rank.
  const bool forbidden = failure == comm::Failure::OtherRanks && status == cudaStreamCaptureStatusInvalidated;
  return forbidden || failure == comm::Failure::Device || failure == comm::Failure::Other;
}

/// A recording that may be given up half-way. torch ends one only where all of it went well: else it leaves its
/// generator recording, its allocator with a pool, and the stream as CUDA has it.
class Recording : public at::cuda::CUDAGraph {
 public:
  explicit Recording(c10::DeviceIndex index)
      : CUDAGraph(/*keep_graph=*/true),
        index_(index),
        memory_(at::cuda::graph_pool_handle()),
        generator_(at::cuda::detail::getDefaultCUDAGenerator(index)),
        before_(generator_.clone()) {}

  c10::MempoolId_t memory() const { return memory_; }

  void abandon(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t part = nullptr;
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone &&
        cudaStreamEndCapture(stream, &part) == cudaSuccess)
      cudaGraphDestroy(part);
    cudaGetLastError();  // what was refused is told already
    generator_.graphsafe_set_state(before_);
    if (capture_ended_) return;  // then the pool goes with this object
    namespace allocator = c10::cuda::CUDACachingAllocator;
    // Either throws where the recording did not come so far.
    tried([&] { allocator::endAllocateToPool(index_, memory_); });
    tried([&] { allocator::releasePool(index_, memory_); });
  }

 private:
  using MemPool = at::cuda::MempoolId_t;
  static void tried(const std::function<void()>& work) try { work(); } catch (const c10::Error&) {
  }

  c10::DeviceIndex index_;
  c10::MempoolId_t memory_;
  at::Generator generator_, before_;  // the second as it was before
};

class CudaGraph final : public Graph {
 public:
  CudaGraph(c10::DeviceIndex index, AllocatorPeaks& peaks)
      : index_(index), peaks_(peaks), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index)) {}

  void record(const std::function<void()>& body) override {
    peaks_.beginPart();
    // The blocks that the body used last belong to the stream and are of no use to the graph.
    c10::cuda::CUDACachingAllocator::emptyCache();
    graph_.emplace(index_);
    try {
      // Other threads copy batches and make page-locked memory meanwhile.
      graph_->capture_begin(graph_->memory(), cudaStreamCaptureModeThreadLocal);
      body();
      graph_->capture_end();
      C10_CUDA_CHECK(cudaGraphGetNodes(graph_->raw_cuda_graph(), nullptr, &nodes_));
      graph_->instantiate();
    } catch (const std::exception& error) {
      const cudaStream_t stream = stream_.current_stream().stream();
      if (!cannotBeRecorded(error, stream)) throw;
      graph_->abandon(stream);
      graph_.reset();
      throw NotRecorded(comm::firstLineOf(error));
    }
    recorded_ = peaks_.part();
  }

  void drop() override {
    graph_.reset();
    c10::cuda::CUDACachingAllocator::emptyCache();
  }

  void launch() override {
    graph_->replay();
    peaks_.note(recorded_);
  }

  std::function<bool()> ended() override {
    auto event = std::make_shared<at::cuda::CUDAEvent>(cudaEventDisableTiming);
    event->record(stream_.current_stream());
    return [event] { return event->query(); };
  }

  size_t nodes() const override { return nodes_; }

 private:
  c10::DeviceIndex index_;
  AllocatorPeaks& peaks_;
  c10::cuda::CUDAStreamGuard stream_;
  std::optional<Recording> graph_;
  size_t nodes_ = 0;
  MemoryPeaks recorded_;  // while it was recorded
};

}  // namespace

MemoryPeaks AllocatorPeaks::part() const {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  MemoryPeaks peaks;
  for (const c10::DeviceIndex device : devices_) {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device);
    peaks.held = std::max(peaks.held, static_cast<double>(stats.reserved_bytes[kAll].peak));
    peaks.allocated = std::max(peaks.allocated, static_cast<double>(stats.allocated_bytes[kAll].peak));
  }
  return peaks;
}

MemoryPeaks AllocatorPeaks::since() const {
  const MemoryPeaks own = part();
  return {std::max(own.held, noted_.held), std::max(own.allocated, noted_.allocated)};
}

void AllocatorPeaks::reset() {
  beginPart();
  noted_ = {};
}

void AllocatorPeaks::beginPart() {
  note(part());
  for (const c10::DeviceIndex device : devices_) c10::cuda::CUDACachingAllocator::resetPeakStats(device);
}

void AllocatorPeaks::note(const MemoryPeaks& peaks) {
  noted_.held = std::max(noted_.held, peaks.held);
  noted_.allocated = std::max(noted_.allocated, peaks.allocated);
}

std::unique_ptr<Graph> makeCudaGraph(c10::DeviceIndex index, AllocatorPeaks& peaks) {
  return std::make_unique<CudaGraph>(index, peaks);
}

}  // namespace expc::device
