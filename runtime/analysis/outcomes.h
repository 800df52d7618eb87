#pragma once

// What became of one place of a plan in each block: part of the index (index.h).

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/analysis/judgement.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::analysis {

/// One place in one block and session, whatever the number of attempts: the last valid attempt; without one the last
/// that timed out, ran out of memory, failed, or was disturbed, in this order.
struct Outcome {
  int64_t block = 0, session = 0;
  int64_t trial = 0;                    // that decided it
  int64_t run = 0;                      // of that trial
  double limit = 0;                     // seconds: of a timeout, what it met
  const std::string* reason = nullptr;  // of one that did not end well; kept by the index
  unsigned attempt = 0;
  store::TrialStatus status = store::TrialStatus::Failed;
  bool superseded = false;     // a timeout under a limit that is no longer the place's: no value, and to be run again
  bool forgiven = false;       // to be tried again: disturbed, or lost, before this run, which was told to
  bool out_of_memory = false;  // some attempt ran out of memory, whatever decided

  bool valid() const { return status == store::TrialStatus::Valid; }
  /// Has a value: a valid trial, or a timeout that counts, which is worse than every value.
  bool ended() const { return valid() || (status == store::TrialStatus::Timeout && !superseded); }
  bool infeasible() const { return status == store::TrialStatus::Infeasible; }
  /// Whether it counts against the blocks that may be tried.
  bool tried() const { return !superseded && !forgiven; }
};

/// All that is known of a place for one kind of trial.
struct PlaceOutcomes : Endings {
  std::vector<Outcome> outcomes;                   // by block and session; at most one each
  const llvm::json::Object* parameters = nullptr;  // of its point
  /// For each metric that the index keeps, what each outcome's trial measured; NaN where it has no value.
  std::vector<std::vector<double>> values;
  /// The same of metrics that came as series; no vector for a metric that never did.
  std::vector<std::vector<std::shared_ptr<const std::vector<double>>>> series;
  /// For each metric that the index keeps: whether a trial said that the device cannot give it, and whether one did.
  std::vector<bool> not_on_device, measured;

  unsigned nodes = 1;                      // that a trial of it ran on
  unsigned tried = 0;                      // outcomes
  unsigned forgiven_infeasible = 0;        // blocks before a run that was told to try them again
  double given = 0;                        // what the newest trial of a known limit was given
  int64_t last_given = 0;                  // this trial
  unsigned failed_in_a_row = 0;            // trials of this run, none that ended well after them
  int64_t last_lost = 0, last_memory = 0;  // the trials of `last_reason` and `memory_reason`
  const std::string* said = nullptr;       // the reason of the last failure of this run

  /// The place in `outcomes`, or nothing.
  std::optional<size_t> find(int64_t block, int64_t session) const;
  /// Where the outcomes of a block begin, or of the next one.
  std::vector<Outcome>::const_iterator firstOf(int64_t block) const;
  /// Whether something holds of the block's outcome in some session.
  template <class Holds>
  bool anyIn(int64_t block, Holds holds) const {
    for (auto at = firstOf(block); at != outcomes.end() && at->block == block; ++at)
      if (std::invoke(holds, *at)) return true;
    return false;
  }
  bool triedIn(int64_t block) const { return anyIn(block, &Outcome::tried); }
  bool endedIn(int64_t block, int64_t session) const;
  /// Out of memory in this many blocks is a result, so no more is asked for.
  bool settledInfeasible() const;
};

/// What a timeout waited for at least, also where the record does not say what it was given.
inline double limitMet(const store::Trial& trial) { return trial.limit > 0 ? trial.limit : trial.seconds; }

/// Out of memory in this many blocks is a result: infeasible (docs/layers/statistics.md).
inline constexpr unsigned kInfeasibleBlocks = 2;

}  // namespace expc::analysis
