#pragma once

// Writes a trial's events from a rank to the engine, and makes sure that only one of them ends the
// trial. The contents of events are up to the workloads.

#include <cstdint>
#include <mutex>
#include <string_view>

#include "runtime/protocol/trial.h"

namespace expc::serve {

/// Writes events, each as a whole line. Thread-safe; never raises SIGPIPE and never throws: if the
/// engine is gone, the trial ends anyway. Of the events that end a trial (result, failed,
/// infeasible) the first is written and everything after it is dropped, so any thread may say why a
/// trial fails. A process has one writer.
class EventWriter {
 public:
  /// Writes to `fd`, which stays the caller's.
  explicit EventWriter(int fd);
  /// Writes an event. @returns false if the engine's end is closed or the last event was written;
  /// then nothing is written any more
  bool write(const protocol::Event& event);
  /// Shorthands for write().
  bool started();
  bool progress(uint64_t done, uint64_t total, std::string_view phase);
  bool failed(std::string_view reason);
  /// Says that the rank failed because another one is gone. The other rank's own reason counts more
  /// for the engine.
  bool lostOthers(std::string_view reason);
  bool infeasible(std::string_view reason, bool host_memory = false);
  /// All reasons from now on say which rank they are of.
  void namesRank() { names_rank_ = true; }
  /// Raw text; only for the faults that the null worker simulates.
  bool writeRaw(std::string_view text);

 private:
  bool send(std::string_view text);

  int fd_;
  bool names_rank_ = false;
  std::mutex mutex_;  // protects the members below
  bool open_ = true;
  bool ended_ = false;
};

}  // namespace expc::serve
