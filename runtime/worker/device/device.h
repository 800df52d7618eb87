#pragma once

// What a rank computes on: one face for the CPU and for GPUs.

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace expc::comm {
class Communicator;
}

namespace expc::profile {
class PhaseClock;
class Probe;
}  // namespace expc::profile

namespace expc::device {

/// Memory of the host that the device reads without the system copying it first.
struct HostMemory {
  std::function<void*(size_t bytes)> allocate;  // 64-byte aligned; null when there is none
  std::function<void(void*)> release;
};

/// Copies from the host to the device, queued in line with what is computed or beside it. Used by one thread.
class CopyQueue {
 public:
  /// A place in the queue.
  using Mark = std::shared_ptr<void>;

  virtual ~CopyQueue() = default;
  /// Queues a copy of `host` and returns the copy. Its memory must stay as it is until a mark behind it is reached.
  virtual at::Tensor copy(const at::Tensor& host) = 0;
  /// Behind everything queued so far.
  virtual Mark mark() = 0;
  /// What is computed from now on comes after the mark, and `tensors`, which were copied before it, belong to it.
  virtual void handOver(const Mark& mark, const std::vector<at::Tensor>& tensors) = 0;
  virtual bool reached(const Mark& mark) = 0;
  virtual void wait(const Mark& mark) = 0;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual c10::Device torchDevice() const = 0;
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
  /// Bytes that the allocator held at most since the process began, on the device of this process where they were most;
  /// nothing where that is not measured.
  virtual std::optional<double> memoryPeak() const = 0;
  /// Page-locked memory of the host; nothing where there is no accelerator.
  virtual std::optional<HostMemory> pinnedMemory() { return std::nullopt; }
  /// A queue of copies, beside what is computed or in line with it; null where the device's memory is the host's. The
  /// device must live longer.
  virtual std::unique_ptr<CopyQueue> copyQueue(bool /*beside*/) { return nullptr; }
  /// How phases are measured here, and what else is measured of a profiled trial.
  virtual std::unique_ptr<profile::PhaseClock> phaseClock() const = 0;
  virtual std::unique_ptr<profile::Probe> probe() const = 0;
  /// Joules that the devices of this process have taken since some moment; nothing where no counter can be read.
  virtual std::optional<double> energy() const = 0;
  /// Adds what influences the time here: threads, instruction set, device name, libraries.
  virtual void describe(llvm::json::Object& environment) const = 0;
};

/// A kind of device that this worker was built for.
struct Backend {
  std::string_view name;  // "device" of a slot: "cpu", "cuda"
  llvm::Expected<std::unique_ptr<Device>> (*open)(const llvm::json::Value& slot);
  void (*libraries)(llvm::json::Object& into);  // names and versions, for --describe
};

/// Threads that a slot has for operators on the CPU: "threads", else one for each of its cores, else one for each core
/// of this process.
int slotThreads(const llvm::json::Value& slot);

/// Opens the device of a slot ({"device":"cpu","cores":[0]}). The error names the devices that this worker can use.
llvm::Expected<std::unique_ptr<Device>> openDevice(const std::vector<Backend>& backends, const llvm::json::Value& slot);

}  // namespace expc::device
