// Recording of a step as a CUDA graph through torch's CUDAGraph, with two additions. A recording
// that fails half-way is cleaned up, so that the trial can go on without a graph. And peaks of
// memory are kept right: a graph's memory is allocated while it is recorded, and no launch
// allocates anything.

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

/// Whether the failure is about recording only: the device still works, and neither memory nor a
/// rank was missing.
bool cannotBeRecorded(const std::exception& error, cudaStream_t stream) {
  const comm::Failure failure = comm::failureOf(error);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) return false;
  // NCCL reports a call that a recording forbids in the words of a lost rank; the state of the
  // capture tells them apart.
  const bool forbidden = failure == comm::Failure::OtherRanks && status == cudaStreamCaptureStatusInvalidated;
  return forbidden || failure == comm::Failure::Device || failure == comm::Failure::Other;
}

/// A recording that can be abandoned half-way. torch ends a recording only if all of it went well;
/// otherwise its generator keeps recording, its allocator keeps a pool, and the stream stays in
/// capture.
class Recording : public at::cuda::CUDAGraph {
 public:
  explicit Recording(c10::DeviceIndex index)
      : CUDAGraph(/*keep_graph=*/true),
        index_(index),
        memory_(at::cuda::graph_pool_handle()),
        generator_(at::cuda::detail::getDefaultCUDAGenerator(index)),
        before_(generator_.clone()) {}

  c10::MempoolId_t memory() const { return memory_; }

  /// Restores the stream, the generator and the allocator after a failed recording.
  void abandon(cudaStream_t stream) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t part = nullptr;
    if (cudaStreamIsCapturing(stream, &status) == cudaSuccess && status != cudaStreamCaptureStatusNone &&
        cudaStreamEndCapture(stream, &part) == cudaSuccess)
      cudaGraphDestroy(part);
    cudaGetLastError();  // clears the error, which has been reported already
    generator_.graphsafe_set_state(before_);
    if (capture_ended_) return;  // the pool is released with this object
    namespace allocator = c10::cuda::CUDACachingAllocator;
    // Each of these throws if the recording did not get that far.
    tried([&] { allocator::endAllocateToPool(index_, memory_); });
    tried([&] { allocator::releasePool(index_, memory_); });
  }

 private:
  using MemPool = at::cuda::MempoolId_t;
  static void tried(const std::function<void()>& work) try { work(); } catch (const c10::Error&) {
  }

  c10::DeviceIndex index_;
  c10::MempoolId_t memory_;
  /// `before_` is the generator's state before the recording.
  at::Generator generator_, before_;
};

/// A graph and the stream that it is recorded on.
class CudaGraph final : public Graph {
 public:
  CudaGraph(c10::DeviceIndex index, AllocatorPeaks& peaks)
      : index_(index), peaks_(peaks), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index)) {}

  void record(const std::function<void()>& body) override {
    peaks_.beginPart();
    // Blocks that the body used last belong to the stream and cannot serve the graph; without this
    // both would hold memory.
    c10::cuda::CUDACachingAllocator::emptyCache();
    graph_.emplace(index_);
    try {
      // The strictness of this thread only: other threads copy batches and allocate page-locked
      // memory meanwhile.
      graph_->capture_begin(graph_->memory(), cudaStreamCaptureModeThreadLocal);
      body();
      graph_->capture_end();
      // The recording was made with keep_graph, so its nodes can be counted first; then it must be
      // instantiated by hand.
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
  MemoryPeaks recorded_;  // peaks while it was recorded
};

}  // namespace

MemoryPeaks AllocatorPeaks::part() const {
  /// The allocator counts since its last reset: for one part of the work.
  constexpr auto kAll = size_t(c10::CachingAllocator::StatType::AGGREGATE);
  MemoryPeaks peaks;
  for (const c10::DeviceIndex device : devices_) {
    const auto stats = c10::cuda::CUDACachingAllocator::getDeviceStats(device);
    peaks.held = std::max(peaks.held, double(stats.reserved_bytes[kAll].peak));
    peaks.allocated = std::max(peaks.allocated, double(stats.allocated_bytes[kAll].peak));
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
