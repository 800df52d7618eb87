#pragma once

// The interface of work that streams queue. The device's thread (queues.h) executes operations step
// by step; the runtime, NCCL and graphs implement them.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/host_guard.h"

namespace nullgpu {

/// An entry of a stream's queue. The same object may be executed many times, as part of a graph.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Does a step; returns true once the operation is complete. The device's thread calls it without
  /// the core's lock, first when all earlier work of the stream is done and then repeatedly. It
  /// must not block on anything outside (another rank, the host) but may take as long as a copy
  /// takes. Before returning true it must restore its initial state, because each launch of a graph
  /// executes it anew.
  virtual bool advance() = 0;
  /// The activity to report when it is done, or null. The caller fills in `begin`, `end`, `stream`,
  /// `card` and `correlation`.
  virtual Activity* activity() { return nullptr; }
  /// Starts watching the host buffer that the operation uses, until it is done; null if it uses
  /// none that could be watched. A graph calls it at each launch.
  virtual std::unique_ptr<HostGuard> guard() const { return nullptr; }
};

/// An operation that calls a function, and reports `told` if given. Most small operations need no
/// class.
class FunctionOperation final : public Operation {
 public:
  explicit FunctionOperation(std::function<bool()> advance, std::optional<Activity> told = {})
      : advance_(std::move(advance)), told_(told) {}
  bool advance() override { return advance_(); }
  Activity* activity() override { return told_ ? &*told_ : nullptr; }

 private:
  std::function<bool()> advance_;
  std::optional<Activity> told_;
};

}  // namespace nullgpu
