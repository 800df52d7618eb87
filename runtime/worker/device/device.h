#pragma once

// A rank's device: one interface for the CPU and for GPUs. It offers what differs between them and
// matters to training and its measurement (copies, graphs, clocks, memory, energy); everything else
// goes through torch. A device and its parts are used by the training thread, unless stated
// otherwise.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <llvm/Support/JSON.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::comm {
class Communicator;
}

namespace expc::profile {
class PhaseClock;
class Probe;
}  // namespace expc::profile

namespace expc::device {

/// Allocates memory of the host that the device can read without the system copying it first,
/// aligned to 64 bytes. Null if there is none.
using HostMemory = std::function<std::shared_ptr<void>(size_t bytes)>;

/// Copies from the host to the device, queued in line with the computation or beside it. Used by
/// one thread.
class CopyQueue {
 public:
  /// A point in the queue, behind everything queued before.
  using Mark = std::shared_ptr<void>;

  virtual ~CopyQueue() = default;
  /// Queues a copy of `host` and returns the tensor on the device. The memory of `host` must not
  /// change until a mark set afterwards is reached.
  virtual at::Tensor copy(const at::Tensor& host) = 0;
  /// Waits until the queue's stream is idle, as a blocking copy of torch does after its copy.
  virtual void finish() = 0;
  /// Runs `body` with the queue's stream as the thread's current stream, so that clocks used inside
  /// measure the copies.
  virtual void within(const std::function<void()>& body) { body(); }
  /// A mark behind everything queued so far.
  virtual Mark mark() = 0;
  /// Makes the computation from now on wait for the mark and gives it `tensors`, which were copied
  /// before the mark.
  virtual void handOver(const Mark& mark, const std::vector<at::Tensor>& tensors) = 0;
  /// Whether the mark is reached. Does not wait.
  virtual bool reached(const Mark& mark) = 0;
  /// Waits until it is.
  virtual void wait(const Mark& mark) = 0;
};

/// Holds memory of the host while copies may still read it.
class InFlight {
 public:
  /// The queue must outlive this.
  explicit InFlight(CopyQueue& queue) : queue_(queue) {}
  /// Waits for the copies. If an exception is under way or the device has failed, nobody knows
  /// whether they still read. Then it does not wait, and keeps their memory until the process ends.
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  /// Keeps `memory` until the mark is reached.
  void add(CopyQueue::Mark mark, std::shared_ptr<void> memory);
  /// Releases the memory of copies that are done, and waits until at most `most` are left. Throws
  /// what the device throws.
  void reclaim(size_t most);

 private:
  CopyQueue& queue_;
  std::deque<std::pair<CopyQueue::Mark, std::shared_ptr<void>>> copies_;
};

/// Peaks of memory in bytes, each on that device of this process that had most. 0 if the allocator
/// does not count, as without its cache. Memory of libraries is not included: the context (about
/// 0.5 GiB), NCCL's buffers, DALI's pools.
struct MemoryPeaks {
  double held = 0;       // by torch's allocator, including free blocks that it keeps
  double allocated = 0;  // by tensors and workspaces
};

/// Thrown if something in the work cannot be recorded; the text says what. The device is as it was
/// before the recording.
class NotRecorded : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Work that a device repeats, recorded once so that queueing it is one call of the host. Used by
/// the thread that made it. While it exists, that thread's work for the device goes to a stream of
/// its own, because a recording can only reuse what was made on the stream that is recorded.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Records what `body` queues, without doing it. The same body must have run before, so that
  /// libraries have initialised themselves and chosen algorithms. Memory that it allocates belongs
  /// to the graph; tensors that it leaves are written by each launch. Throws NotRecorded, or what
  /// the body throws about memory or other ranks.
  virtual void record(const std::function<void()>& body) = 0;
  /// Gives up the recording, or one that failed, and its memory as far as no tensor holds it.
  /// Streams stay as they are.
  virtual void drop() = 0;
  /// Queues the recorded work. Random numbers continue from the default generator, as without a
  /// graph.
  virtual void launch() = 0;
  /// A function that says, from any thread and without waiting, whether everything launched so far
  /// is done.
  virtual std::function<bool()> ended() = 0;
  /// The number of nodes (kernels, copies and so on) in a launch.
  virtual size_t nodes() const = 0;
};

/// The device of a rank.
class Device {
 public:
  virtual ~Device() = default;
  /// The device that torch computes on.
  virtual c10::Device torchDevice() const = 0;
  /// The devices of all slots that this process drives, in their order. The first is torchDevice().
  virtual std::vector<c10::Device> torchDevices() const { return {torchDevice()}; }
  /// Lets tensors of this device travel between ranks. Called once, after the communicator is open.
  virtual void join(comm::Communicator& communicator) = 0;
  /// The stream for this thread's work on the device, for libraries beside torch (a cudaStream_t).
  /// Null on the CPU, and for CUDA's default stream.
  virtual void* stream() const { return nullptr; }
  /// Returns when everything queued is done.
  virtual void synchronize() = 0;
  /// Drops all marks and makes room for `count` new ones, so that mark() does not allocate while
  /// time is measured.
  virtual void clearMarks(size_t count) = 0;
  /// Notes the time at which the work queued so far will be done. Does not wait.
  virtual void mark() = 0;
  /// The seconds between successive marks, one fewer than there are marks. Synchronises.
  virtual std::vector<double> intervals() = 0;
  /// The peaks since resetMemoryPeaks(), or since the process began. Nothing if they are not
  /// measured.
  virtual std::optional<MemoryPeaks> memoryPeaks() const { return std::nullopt; }
  virtual void resetMemoryPeaks() {}
  /// The bytes of the largest cache between the device's memory and its processors; 0 where nobody
  /// asks.
  virtual size_t cacheBytes() const { return 0; }
  /// An allocator of page-locked memory; empty without an accelerator.
  virtual HostMemory pinnedMemory() { return {}; }
  /// A queue of copies, beside the computation or in line with it; null if the device uses the
  /// host's memory. The device must outlive it.
  virtual std::unique_ptr<CopyQueue> copyQueue(bool /*beside*/) { return nullptr; }
  /// A graph for work of this thread; null if nothing would be gained. The device must outlive it.
  virtual std::unique_ptr<Graph> graph() { return nullptr; }
  /// The measurement of phases, and of everything else in a profiled trial, on this kind of device.
  virtual std::unique_ptr<profile::PhaseClock> phaseClock() const = 0;
  virtual std::unique_ptr<profile::Probe> probe() const = 0;
  /// Joules that the devices of this process have used since some moment; nothing if a counter
  /// cannot be read. Use energyBetween() for differences.
  virtual std::optional<double> energy() const = 0;
  /// Adds what influences times here: threads, instruction set, device name, versions.
  virtual void describe(json::Object& environment) const = 0;
};

/// Joules between two readings of a counter. Nothing if one is missing, or if the counter did not
/// move: it moves every 20 to 100 ms, and no trial uses no energy.
std::optional<double> energyBetween(std::optional<double> before, std::optional<double> after);

/// Reads joules since some moment, or nothing.
using EnergyCounter = std::function<std::optional<double>()>;
/// The counter of the NVIDIA GPU at a PCI address as CUDA writes it, "0000:17:00.0", since the
/// driver was loaded. It moves every 20 to 100 ms. Read through NVIDIA's management library, which
/// comes with the driver and is loaded by dlopen: libnvidia-ml.so.1, or EXPC_NVML_LIBRARY. Gives
/// nothing without a driver, on GPUs before Volta, and for a part of a GPU (MIG).
EnergyCounter nvmlEnergy(const std::string& pci_bus);

/// A kind of device that this worker was built for.
struct Backend {
  std::string_view name;  // as in a slot's "device": "cpu" or "cuda"
  /// Opens the device of the first slot; measurements cover the devices of all slots.
  Expected<std::unique_ptr<Device>> (*open)(ArrayRef<json::Value> slots);
  /// Adds names and versions of libraries, for --describe. Must not start the device.
  void (*libraries)(json::Object& into);
};

/// The CPU. Operators use as many threads as the slot has (slotThreads()).
Backend cpuBackend();
/// NVIDIA GPUs through libtorch_cuda, in programs that link it. CUDA starts when a device is
/// opened, never before a fork.
Backend cudaBackend();

/// The threads that a slot has for operators on the CPU: its "threads", else one per core of the
/// slot, else one per core of this process.
int slotThreads(const json::Value& slot);

/// Opens the device for a process that drives these slots, at least one, such as
/// {"device":"cpu","cores":[0]}. The error names the devices that this worker can use.
Expected<std::unique_ptr<Device>> openDevice(const std::vector<Backend>& backends, ArrayRef<json::Value> slots);

}  // namespace expc::device
