#pragma once

#include <deque>
#include <memory>
#include <utility>

#include "runtime/worker/device/device.h"

namespace expc::device {

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

}  // namespace expc::device
