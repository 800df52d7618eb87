#pragma once

// What a rank computes on: one face for the CPU and for GPUs.

#include <c10/core/Device.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

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
  /// Bytes that the allocator held at most since the process began; nothing where that is not measured.
  virtual std::optional<double> memoryPeak() const = 0;
  /// How phases are measured here, and what else is measured of a profiled trial.
  virtual std::unique_ptr<profile::PhaseClock> phaseClock() const = 0;
  virtual std::unique_ptr<profile::Probe> probe() const = 0;
  /// Joules that the device has taken since some moment; nothing where no counter can be read.
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

/// Opens the device of a slot ({"device":"cpu","cores":[0]}). The error names the devices that this worker can use.
llvm::Expected<std::unique_ptr<Device>> openDevice(const std::vector<Backend>& backends, const llvm::json::Value& slot);

}  // namespace expc::device
