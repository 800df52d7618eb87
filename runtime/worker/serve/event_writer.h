#pragma once

// Writes a trial's events from a rank to the engine, and lets only one event end the trial. What the events say is left
// to the workloads.

#include <cstdint>
#include <mutex>
#include <string_view>

#include "runtime/plan/trial.h"

namespace expc::serve {

/// Writes events to the engine, a whole line in one piece. Never raises SIGPIPE and never throws: an engine that is
/// gone ends the trial anyway. A trial has one last event: of those that end it (result, failed, infeasible) the first
/// is written and all that comes after it is dropped, so that any thread may say why a trial fails. One writer a
/// process.
class EventWriter {
 public:
  explicit EventWriter(int fd);
  /// False when the engine's end is closed, or the last event was written; later calls then do nothing.
  bool write(const plan::Event& event);
  /// Shorthands.
  bool started();
  bool progress(uint64_t done, uint64_t total, std::string_view phase);
  bool failed(std::string_view reason);
  /// Failed because another rank is gone, whose own reason weighs more.
  bool lostOthers(std::string_view reason);
  bool infeasible(std::string_view reason);
  /// All reasons from now on say which rank they are of.
  void namesRank() { names_rank_ = true; }
  /// Raw text, for the null worker's faults only.
  bool writeRaw(std::string_view text);

 private:
  bool send(std::string_view text);

  int fd_;
  bool names_rank_ = false;
  std::mutex mutex_;  // guards what follows
  bool open_ = true;
  bool ended_ = false;
};

}  // namespace expc::serve
