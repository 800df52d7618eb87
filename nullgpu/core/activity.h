#pragma once

// What happened, for whoever asks to be told: CUPTI's records are made of it, and NVML's counters.

#include <cstdint>
#include <string_view>

#include "nullgpu/core/counters_api.h"

namespace nullgpu {

/// Nanoseconds of the clock that all records share.
uint64_t now();

enum class Work : uint8_t { Kernel, HostToDevice, DeviceToHost, DeviceToDevice, PeerToPeer, Set };

/// Something that a card did.
struct Activity {
  Work work = Work::Kernel;
  std::string_view name;     // of a kernel; static storage
  unsigned card = 0;         // the number that the process knows it by
  uint32_t stream = 0;       // a stream's number; 0 is the default stream
  uint32_t correlation = 0;  // of the call that queued it
  uint64_t bytes = 0;
  uint64_t begin = 0, end = 0;
  bool pinned = true;  // the host's side of a copy is page-locked
  unsigned peer = 0;   // PeerToPeer: where it comes from
};

/// A call of the runtime.
struct Call {
  const char* name = nullptr;  // "cudaMemcpyAsync"
  uint32_t correlation = 0;
  uint64_t begin = 0, end = 0;
  uint32_t thread = 0;
};

/// Told from the threads in which it happens; must not call back.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void happened(const Activity& activity) = 0;
  virtual void happened(const Call& call) = 0;
};

/// One at a time; null: nobody. Whoever listened before is not told any more once this returns.
void listen(Listener* listener);

/// Around the body of every function of the runtime. What is queued meanwhile belongs to the call.
class CallScope {
 public:
  explicit CallScope(const char* name);
  ~CallScope();
  CallScope(const CallScope&) = delete;
  CallScope& operator=(const CallScope&) = delete;

 private:
  friend uint32_t currentCorrelation();
  Call call_;
  CallScope* outer_;
};

/// The correlation of the call that this thread is in; 0 outside.
uint32_t currentCorrelation();

/// What nullgpu_counters() tells, of this moment.
nullgpu_counts counters();
/// With NULLGPU_REPORT=1 one line of them on stderr.
void reportIfAsked();

/// Counts something that a card did and tells the listener.
void tell(const Activity& activity);
void countAllocation();
/// The host waits.
void countSynchronization();
/// A collective was called, or a graph does one again; whoever implements them says so. The name has static storage.
void countCollective(std::string_view name, uint64_t bytes);

}  // namespace nullgpu
