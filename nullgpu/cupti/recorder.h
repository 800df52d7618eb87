#pragma once

// Writes a record of each thing that happens, where its kind is asked for.

#include <cupti.h>

#include <atomic>
#include <mutex>
#include <vector>

#include "nullgpu/core/activity.h"
#include "nullgpu/cupti/names.h"

namespace nullgpu::cupti {

class Recorder final : public Listener {
 public:
  Recorder();

  /// CUPTI_ERROR_INVALID_KIND, or CUPTI_ERROR_NOT_COMPATIBLE for both kinds of kernels at a time.
  CUptiResult enable(CUpti_ActivityKind kind, bool on);
  /// One function of the runtime or the driver alone.
  CUptiResult enable(Callback callback, bool on);
  void disableAll();

  void happened(const Activity& activity) override;
  void happened(const Call& call) override;

 private:
  using Flags = std::vector<std::atomic<bool>>;

  bool asks(CUpti_ActivityKind kind) const { return kinds_[kind].load(std::memory_order_relaxed); }
  Flags* callsOf(CUpti_CallbackDomain domain);
  void listenIfAsked();

  std::mutex mutex_;  // held while something is turned on or off; not by happened()
  Flags kinds_;
  Flags runtime_, driver_;  // by function
};

/// The process's. Never destroyed.
Recorder& recorder();

/// The clock of records is nullgpu::now(), or a caller's own. Kineto brings one that counts cycles.
void setClock(CUpti_TimestampCallbackFunc clock);

}  // namespace nullgpu::cupti
