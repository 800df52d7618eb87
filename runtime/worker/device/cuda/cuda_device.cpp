// NVIDIA GPUs through torch: copies beside the computation, clocks by events, energy by NVML, and
// finding the GPU of a slot. Nothing here starts CUDA before a device is opened, because the launch
// server forks before that, and CUDA does not survive a fork.

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/cuda/CUDAEvent.h>
#include <ATen/cuda/CachingHostAllocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <c10/util/env.h>
#include <cuda_runtime_api.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Support/FormatVariadic.h>
#include <nccl.h>
#include <torch/version.h>

#include <algorithm>
#include <array>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/worker/comm/cuda/nccl.h"
#include "runtime/worker/device/cuda/cuda_graph.h"
#include "runtime/worker/device/device.h"
#include "runtime/worker/device/host.h"
#include "runtime/worker/profile/cuda/cupti_probe.h"
#include "runtime/worker/profile/range.h"

namespace expc::device {
namespace {

using at::cuda::CUDAEvent;
using profile::Phase;

/// A queue of copies to the GPU: on a stream of its own if `beside`, else on the stream that
/// computes.
class CudaCopyQueue final : public CopyQueue {
 public:
  CudaCopyQueue(c10::DeviceIndex index, bool beside)
      : index_(index), beside_(beside), stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/false, index)) {}

  /// Copies by cudaMemcpyAsync and not by torch's copy_. copy_ looks a pinned block up by the
  /// pointer that its allocator gave out, but a batch may begin in the middle of a block.
  /// cudaMemcpyAsync returns at once for pinned memory and waits for any other.
  at::Tensor copy(const at::Tensor& host) override {
    const c10::cuda::CUDAStreamGuard guard(own());
    at::Tensor result = at::empty_strided(host.sizes(), host.strides(), host.options().device(c10::kCUDA, index_));
    C10_CUDA_CHECK(cudaMemcpyAsync(result.data_ptr(), host.const_data_ptr(), result.nbytes(), cudaMemcpyHostToDevice,
                                   own().stream()));
    return result;
  }
  void finish() override { own().synchronize(); }
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
    // The tensors' memory belongs to the other stream. Without this, a later copy could be given it
    // while a kernel still reads it.
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

/// HostMemory by torch's caching allocator of pinned memory, since locking pages anew for each
/// batch is slow.
std::shared_ptr<void> cudaPinnedMemory(size_t bytes) {
  // If the allocation fails, the loader explains it.
  try {
    auto block = std::make_shared<at::DataPtr>(at::getHostAllocator(at::kCUDA)->allocate(bytes));
    return {block, block->get()};  // the memory is page-aligned
  } catch (const std::exception&) {
    return nullptr;
  }
}

/// Pairs of events in the ring. No device has so much queued at a time, so the oldest pair is done
/// when the ring comes round to it, and reading it does not wait.
constexpr size_t kPairs = 4096;

/// The events around a phase.
struct Pair {
  CUDAEvent begin{cudaEventDefault}, end{cudaEventDefault};  // events with timing
  Phase phase = Phase::Step;
  bool open = false;  // the end is not recorded yet
  /// Holds a measurement that was not taken yet.
  bool used = false;
};

/// Measures phases on the device by events on the thread's current stream, so that no phase makes
/// the host wait. Load is time of the host and measured by its clock.
class EventClock final : public profile::PhaseClock {
 public:
  explicit EventClock(c10::Device device) : device_(device), host_(profile::makeHostClock()), ring_(kPairs) {}

  void begin(Phase phase) override {
    if (phase == Phase::Load) return host_->begin(phase);
    Pair& pair = ring_[next_];
    // The ring has come round: take the old measurement before the pair is used again.
    if (pair.used && !pair.open) take(pair);
    pair.phase = phase;
    pair.used = pair.open = true;
    pair.begin.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    open_[size_t(phase)] = next_;
    next_ = (next_ + 1) % ring_.size();
  }

  void end(Phase phase) override {
    if (phase == Phase::Load) return host_->end(phase);
    Pair& pair = ring_[open_[size_t(phase)]];
    // The pair was used again since: a phase longer than the ring, such as an epoch, has no entry.
    if (!pair.open || pair.phase != phase) return;
    pair.end.record(c10::cuda::getCurrentCUDAStream(device_.index()));
    pair.open = false;
  }

  profile::PhaseTimes take() override {
    for (Pair& pair : ring_)
      if (pair.used && !pair.open) take(pair);
    profile::PhaseTimes times = std::exchange(times_, {});
    const auto load = size_t(Phase::Load);
    times[load] = host_->take()[load];
    return times;
  }

 private:
  void take(Pair& pair) {
    pair.end.synchronize();
    auto& time = times_[size_t(pair.phase)];
    time.seconds += double(pair.begin.elapsed_time(pair.end)) * 1e-3;
    ++time.count;
    pair.used = false;
  }

  c10::Device device_;
  std::unique_ptr<profile::PhaseClock> host_;
  std::vector<Pair> ring_;
  std::array<size_t, profile::kPhases> open_{};
  size_t next_ = 0;
  profile::PhaseTimes times_{};
};

/// One or more GPUs of this process; torch computes on the first.
class CudaDevice final : public Device {
 public:
  /// @param devices numbers of the slots' GPUs in this process, in the slots' order. A launcher may
  /// have made more visible.
  CudaDevice(std::vector<c10::DeviceIndex> devices, int threads)
      : index_(devices.front()), devices_(std::move(devices)), peaks_(devices_) {
    at::set_num_threads(threads);
    at::globalContext().lazyInitDevice(c10::kCUDA);
    c10::cuda::set_device(index_);
    // Energy counters are found by bus address: NVML numbers all GPUs, CUDA only those that are
    // visible.
    for (const c10::DeviceIndex device : devices_) {
      char bus[32] = {};
      if (cudaDeviceGetPCIBusId(bus, sizeof bus, device) == cudaSuccess) energy_.push_back(nvmlEnergy(bus));
    }
  }

  c10::Device torchDevice() const override { return c10::Device(c10::kCUDA, index_); }
  std::vector<c10::Device> torchDevices() const override {
    std::vector<c10::Device> result;
    for (const c10::DeviceIndex device : devices_) result.emplace_back(c10::kCUDA, device);
    return result;
  }
  void join(comm::Communicator& communicator) override { comm::addNccl(communicator, index_); }
  void* stream() const override { return c10::cuda::getCurrentCUDAStream(index_).stream(); }
  void synchronize() override { c10::cuda::device_synchronize(); }
  void clearMarks(size_t count) override {
    marks_.clear();
    marks_.reserve(count);
  }
  void mark() override {
    marks_.emplace_back(cudaEventDefault);  // events with timing
    marks_.back().record(c10::cuda::getCurrentCUDAStream(index_));
  }
  std::vector<double> intervals() override {
    synchronize();
    std::vector<double> result;
    for (size_t i = 1; i < marks_.size(); ++i) result.push_back(double(marks_[i - 1].elapsed_time(marks_[i])) * 1e-3);
    return result;
  }
  std::optional<MemoryPeaks> memoryPeaks() const override { return peaks_.since(); }
  void resetMemoryPeaks() override { peaks_.reset(); }
  size_t cacheBytes() const override {
    cudaDeviceProp properties{};
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index_));
    return size_t(properties.l2CacheSize);
  }
  HostMemory pinnedMemory() override { return cudaPinnedMemory; }
  std::unique_ptr<CopyQueue> copyQueue(bool beside) override { return std::make_unique<CudaCopyQueue>(index_, beside); }
  std::unique_ptr<Graph> graph() override { return makeCudaGraph(index_, peaks_); }
  std::unique_ptr<profile::PhaseClock> phaseClock() const override {
    return std::make_unique<EventClock>(torchDevice());
  }
  std::unique_ptr<profile::Probe> probe() const override { return profile::makeCuptiProbe(); }
  std::optional<double> energy() const override {
    double sum = 0;
    // A sum without one of the devices would be wrong.
    for (const EnergyCounter& counter : energy_) {
      const std::optional<double> joules = counter();
      if (!joules) return std::nullopt;
      sum += *joules;
    }
    return energy_.empty() ? std::nullopt : std::optional(sum);
  }
  void describe(json::Object& environment) const override {
    cudaDeviceProp properties{};
    int driver = 0, runtime = 0;
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index_));
    C10_CUDA_CHECK(cudaDriverGetVersion(&driver));
    C10_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    environment["device"] = "cuda";
    environment["device_name"] = std::string(properties.name);  // torch would keep a pointer as a pointer
    environment["cuda_driver"] = driver;
    environment["cuda_runtime"] = runtime;
    // Set by the user, or by torch for a deterministic trial.
    if (const auto algorithms = c10::utils::get_env("NCCL_ALGO")) environment["nccl_algo"] = *algorithms;
    environment["cudnn_benchmark"] = at::globalContext().benchmarkCuDNN();
    environment["threads"] = at::get_num_threads();
    environment["torch"] = TORCH_VERSION;
  }

 private:
  c10::DeviceIndex index_;
  std::vector<c10::DeviceIndex> devices_;
  AllocatorPeaks peaks_;
  std::vector<EnergyCounter> energy_;
  std::vector<at::cuda::CUDAEvent> marks_;
};

/// A uuid as NVML writes it behind "GPU-", or behind "MIG-" for a part of a GPU: "01234567-89ab-…".
std::string uuidText(const cudaUUID_t& uuid) {
  std::string text = llvm::toHex(StringRef(uuid.bytes, sizeof uuid.bytes), /*LowerCase=*/true);
  for (const size_t dash : {8, 13, 18, 23}) text.insert(dash, "-");
  return text;
}

/// The number of a slot's GPU in this process. CUDA_VISIBLE_DEVICES may have hidden and reordered
/// GPUs, so it is found by its uuid; a slot without one gives an "index" among the visible GPUs.
std::optional<int> numberOf(const json::Object* slot, int count) {
  if (!slot) return std::nullopt;
  if (const auto uuid = slot->getString("uuid")) {
    // Skip "GPU-" or "MIG-".
    const StringRef digits = uuid->drop_front(std::min<size_t>(uuid->size(), 4));
    for (int device = 0; device < count; ++device) {
      cudaDeviceProp properties{};
      if (cudaGetDeviceProperties(&properties, device) == cudaSuccess && digits == uuidText(properties.uuid))
        return device;
    }
    return std::nullopt;
  }
  const auto index = slot->getInteger("index");
  if (!index || *index < 0 || *index >= count) return std::nullopt;
  return int(*index);
}

/// Opens the GPUs of the slots. This is the first use of CUDA in the process.
Expected<std::unique_ptr<Device>> openCuda(ArrayRef<json::Value> slots) {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess) return failure("CUDA does not start: {} (see nvidia-smi)", cudaGetErrorString(status));
  std::vector<c10::DeviceIndex> devices;
  for (const json::Value& slot : slots) {
    const auto index = numberOf(slot.getAsObject(), count);
    if (!index)
      return failure("the trial needs CUDA device {}, but this process sees {}", llvm::formatv("{0}", slot).str(),
                     count);
    devices.push_back(c10::DeviceIndex(*index));
  }
  return std::make_unique<CudaDevice>(std::move(devices), slotThreads(slots.front()));
}

/// Versions for --describe; none of these starts CUDA.
void cudaLibraries(json::Object& into) {
  into["torch"] = TORCH_VERSION;
  into["cuda"] = CUDART_VERSION;
  into["nccl"] = NCCL_VERSION_CODE;
}

}  // namespace

Backend cudaBackend() { return {"cuda", openCuda, cudaLibraries}; }

}  // namespace expc::device
