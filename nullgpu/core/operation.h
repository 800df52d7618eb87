#pragma once

// Operations that streams queue and that the device's thread executes step by step.

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "nullgpu/core/activity.h"
#include "nullgpu/core/host_guard.h"

namespace nullgpu {

/// An entry of a stream's queue.
class Operation {
 public:
  virtual ~Operation() = default;
  /// Called by the device's thread, without the core's lock, once everything before it in its stream is done, and again
  /// and again until it returns true. Must not block; it may take as long as a copy takes. Each launch of a graph
  /// begins its operations anew, so an operation must be in its first state once it has returned true.
  virtual bool advance() = 0;
  /// The activity that listeners are told of; `begin`, `end`, `stream`, `card` and `correlation` are filled in. Null:
  /// listeners are told nothing.
  virtual Activity* activity() { return nullptr; }
  /// Watches the buffer of the host that it uses, for one that waits from here on; null where there is none to watch.
  virtual std::unique_ptr<HostGuard> guard() const { return nullptr; }
};

/// An operation that calls a function; listeners are told `told`.
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
