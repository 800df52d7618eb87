#pragma once

// Reports what happened: every call of the runtime and every piece of work that a card did. The
// core and the libraries above it report here; the counters below add it up, and at most one
// listener (CUPTI's recorder) turns it into records. A call and the work it queued carry the same
// correlation number, so a profile can match them although the work is done later, on another
// thread.

#include <cstdint>
#include <string_view>

#include "nullgpu/core/counters_api.h"

namespace nullgpu {

/// Nanoseconds since the epoch of the system's clock, but never stepping back. All records use this
/// clock. Thread-safe.
uint64_t now();

/// Kinds of work; the values index the arrays of counters, and graph.cpp names them in this order.
enum class Work : uint8_t { Kernel, HostToDevice, DeviceToHost, DeviceToDevice, PeerToPeer, Set };

/// A piece of work that a card did. `begin` and `end` are times of now().
struct Activity {
  Work work = Work::Kernel;
  std::string_view name;     // of a kernel; must have static storage
  unsigned card = 0;         // number of the card as this process sees it
  uint32_t stream = 0;       // number of the stream; 0 is the default stream
  uint32_t correlation = 0;  // of the call that queued it; 0 if no call of the runtime did
  /// Bytes moved or set; 0 for a kernel.
  uint64_t bytes = 0;
  uint64_t begin = 0, end = 0;
  bool pinned = true;  // the host's side of a copy is page-locked
  unsigned peer = 0;   // PeerToPeer only: the card that the bytes come from
};

/// A call of the runtime, timed from its entry to its return.
struct Call {
  const char* name = nullptr;  // such as "cudaMemcpyAsync"; static storage
  uint32_t correlation = 0;
  uint64_t begin = 0, end = 0;
  /// The system's number of the calling thread (gettid).
  uint32_t thread = 0;
};

/// Receives reports, on whichever thread they happen: calls on the program's threads, work on the
/// device's thread. It must not call listen(), which waits for all reports under way.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void happened(const Activity& activity) = 0;
  virtual void happened(const Call& call) = 0;
};

/// Sets the one listener; null removes it. The caller keeps ownership. Once this returns, the
/// previous listener is not called again and may be destroyed.
void listen(Listener* listener);

/// Stands around the body of every function of the runtime: numbers the call, and reports it when
/// the scope ends. Operations queued meanwhile on this thread get its correlation. Scopes may nest.
class CallScope {
 public:
  explicit CallScope(const char* name);
  ~CallScope();
  CallScope& operator=(CallScope&&) = delete;

 private:
  friend uint32_t currentCorrelation();
  Call call_;
  CallScope* outer_;
};

/// The correlation of the innermost call that this thread is in; 0 outside any call.
uint32_t currentCorrelation();

/// The counts that nullgpu_counters() returns, as of this moment. Thread-safe.
nullgpu_counts counters();
/// Writes the counts to stderr as one line if NULLGPU_REPORT=1. Called once, when the process ends.
void reportIfAsked();

/// Counts a finished piece of work and passes it to the listener.
void tell(const Activity& activity);
/// Counts one request for device memory, whether it succeeds or not.
void countAllocation();
/// Stands around one call in which the host waits for a card, and counts it and its time.
class Wait {
 public:
  Wait();
  ~Wait();
  Wait& operator=(Wait&&) = delete;

 private:
  uint64_t begin_;
};
/// Counts a collective of `bytes`, both when it is called and each time a graph repeats it. The
/// core does not see collectives, so the NCCL library reports them. `name` must have static
/// storage.
void countCollective(std::string_view name, uint64_t bytes);

}  // namespace nullgpu
