#pragma once

// What a rank computes on: one face for the CPU and for GPUs.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/Error.h>
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

namespace expc::comm {
class Communicator;
}

namespace expc::profile {
class PhaseClock;
class Probe;
}  // namespace expc::profile

namespace expc::device {

/// Memory of the host that the device reads without the system copying it first, 64-byte aligned; null when there is
/// none.
using HostMemory = std::function<std::shared_ptr<void>(size_t bytes)>;

/// Copies from the host to the device, queued in line with what is computed or beside it. Used by one thread.
class CopyQueue {
 public:
  /// A place in the queue.
  using Mark = std::shared_ptr<void>;

  virtual ~CopyQueue() = default;
  /// Queues a copy of `host` and returns the copy. Its memory must stay as it is until a mark behind it is reached.
  virtual at::Tensor copy(const at::Tensor& host) = 0;
  /// Runs `body` with the queue's stream as the thread's current one, so that what is measured there is measured where
  /// the copies are.
  virtual void within(const std::function<void()>& body) { body(); }
  /// Behind everything queued so far.
  virtual Mark mark() = 0;
  /// What is computed from now on comes after the mark, and `tensors`, which were copied before it, belong to it.
  virtual void handOver(const Mark& mark, const std::vector<at::Tensor>& tensors) = 0;
  virtual bool reached(const Mark& mark) = 0;
  virtual void wait(const Mark& mark) = 0;
};

/// Memory of the host under copies that may not be done.
class InFlight {
 public:
  /// The queue must live longer.
  explicit InFlight(CopyQueue& queue) : queue_(queue) {}
  /// Waits for the copies. Where an exception is on its way, or the device has failed, nobody knows whether they still
  /// read: then nothing is waited for, and their memory is left to the end of the process rather than given back.
  ~InFlight();
  InFlight(const InFlight&) = delete;
  InFlight& operator=(const InFlight&) = delete;

  /// `memory` is kept until the mark is reached.
  void add(CopyQueue::Mark mark, std::shared_ptr<void> memory);
  /// Gives back the memory of copies that are done; waits until at most `most` are left. Throws what the device throws.
  void reclaim(size_t most);

 private:
  CopyQueue& queue_;
  std::deque<std::pair<CopyQueue::Mark, std::shared_ptr<void>>> copies_;
};

/// Peaks of bytes, each on the device of this process that had most; 0 where the allocator counts none, as without its
/// cache. Neither counts the memory of libraries: the context (some 0.5 GiB), NCCL's buffers, DALI's pools.
struct MemoryPeaks {
  double held = 0;       // by torch's allocator, free blocks that it keeps included
  double allocated = 0;  // by tensors and workspaces
};

/// Something in the work cannot be recorded; the text says what. The device is as it was before the recording.
class NotRecorded : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Work that a device does again and again, recorded once: queueing it is one call of the host then. Used by the thread
/// that made it. From its making to its end that thread's work for the device goes into a stream of its own: what a
/// recording reuses must have been made on the stream that is recorded.
class Graph {
 public:
  virtual ~Graph() = default;
  /// Records what `body` queues and does none of it. The same body must have run before, so that libraries have set
  /// themselves up and tried their algorithms. Memory that it allocates is the graph's, and what it leaves in tensors
  /// is written by each launch. Throws NotRecorded, and what the body throws for want of memory or of other ranks.
  virtual void record(const std::function<void()>& body) = 0;
  /// Gives up what was recorded, or a recording that was refused, with the memory of it that no tensor holds any more.
  /// Streams stay as they are.
  virtual void drop() = 0;
  /// Queues the recorded work. Random numbers go on from where the default generator is, as without a graph.
  virtual void launch() = 0;
  /// Asks, from any thread and without waiting, whether all that was launched so far has ended.
  virtual std::function<bool()> ended() = 0;
  /// Kernels, copies and the like in a launch.
  virtual size_t nodes() const = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual c10::Device torchDevice() const = 0;
  /// Those of all slots that this process drives, in their order; the first is torchDevice().
  virtual std::vector<c10::Device> torchDevices() const { return {torchDevice()}; }
  /// Makes tensors of this device travel between ranks. Once, after the communicator is open.
  virtual void join(comm::Communicator& communicator) = 0;
  /// The queue into which this thread's work for the device goes, as libraries beside torch know it (cudaStream_t);
  /// null on the CPU, and for CUDA's default stream.
  virtual void* stream() const { return nullptr; }
  /// Returns when everything that was queued is done.
  virtual void synchronize() = 0;
  /// Drops the marks so far, and makes room for `count` of them so that mark() allocates nothing.
  virtual void clearMarks(size_t count) = 0;
  /// Notes the time at which what is queued now will be done. Does not wait.
  virtual void mark() = 0;
  /// Seconds between successive marks: one fewer than there are marks. Synchronises.
  virtual std::vector<double> intervals() = 0;
  /// Peaks of memory since resetMemoryPeaks(), else since the process began; nothing where they are not measured.
  virtual std::optional<MemoryPeaks> memoryPeaks() const { return std::nullopt; }
  virtual void resetMemoryPeaks() {}
  /// Bytes of the largest cache between the device's memory and what computes; 0 where nobody asks.
  virtual size_t cacheBytes() const { return 0; }
  /// Page-locked memory of the host; empty where there is no accelerator.
  virtual HostMemory pinnedMemory() { return {}; }
  /// A queue of copies, beside what is computed or in line with it; null where the device's memory is the host's. The
  /// device must live longer.
  virtual std::unique_ptr<CopyQueue> copyQueue(bool /*beside*/) { return nullptr; }
  /// What records work of this thread and repeats it; null where nothing is gained by that. The device must live
  /// longer.
  virtual std::unique_ptr<Graph> graph() { return nullptr; }
  /// How phases are measured here, and what else is measured of a profiled trial.
  virtual std::unique_ptr<profile::PhaseClock> phaseClock() const = 0;
  virtual std::unique_ptr<profile::Probe> probe() const = 0;
  /// Joules that the devices of this process have taken since some moment; nothing where no counter can be read.
  virtual std::optional<double> energy() const = 0;
  /// Adds what influences the time here: threads, instruction set, device name, libraries.
  virtual void describe(llvm::json::Object& environment) const = 0;
};

/// Joules between two readings of a counter; nothing without both, and where it did not move: its steps are of 20 to
/// 100 ms, and no trial takes no energy.
std::optional<double> energyBetween(std::optional<double> before, std::optional<double> after);

/// Joules since some moment, or nothing.
using EnergyCounter = std::function<std::optional<double>()>;
/// That of the NVIDIA GPU at a PCI address as CUDA writes it, "0000:17:00.0", since the driver was loaded; it moves
/// every 20 to 100 ms. From the management library by dlopen, which is there with a driver and never linked:
/// libnvidia-ml.so.1, or EXPC_NVML_LIBRARY. Nothing without a driver, on GPUs before Volta, and for a part of a GPU
/// (MIG).
EnergyCounter nvmlEnergy(const std::string& pci_bus);

/// A kind of device that this worker was built for.
struct Backend {
  std::string_view name;  // "device" of a slot: "cpu", "cuda"
  /// The device of the first of these slots, with what is measured of all of them together.
  llvm::Expected<std::unique_ptr<Device>> (*open)(llvm::ArrayRef<llvm::json::Value> slots);
  void (*libraries)(llvm::json::Object& into);  // names and versions, for --describe
};

/// The CPU: operators run with as many threads as the slot has cores.
Backend cpuBackend();
/// NVIDIA GPUs through libtorch_cuda, in programs that link it. CUDA starts when a device is opened, never before a
/// fork.
Backend cudaBackend();

/// Threads that a slot has for operators on the CPU: "threads", else one for each of its cores, else one for each core
/// of this process.
int slotThreads(const llvm::json::Value& slot);

/// Opens the device of a process that drives these slots ({"device":"cpu","cores":[0]}), at least one. The error names
/// the devices that this worker can use.
llvm::Expected<std::unique_ptr<Device>> openDevice(const std::vector<Backend>& backends,
                                                   llvm::ArrayRef<llvm::json::Value> slots);

}  // namespace expc::device
