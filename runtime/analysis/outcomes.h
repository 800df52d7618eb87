#pragma once

// What became of each point in each block: the view of the records that needs, summaries and verdicts share.

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::analysis {

/// One point in one block and session, whatever the number of attempts. `trial` is the last valid attempt; without one
/// the last that timed out, was infeasible, or failed, in this order. A pointer into the results.
struct Outcome {
  int64_t block = 0, session = 0;
  const store::Trial* trial = nullptr;

  bool valid() const { return trial->status == store::TrialStatus::Valid; }
  /// Has a value: a valid trial, or a timeout, which is worse than every value.
  bool ended() const { return valid() || trial->status == store::TrialStatus::Timeout; }
};

/// All that is known of a point for one kind of trial.
struct PointOutcomes {
  std::vector<Outcome> outcomes;   // by block and session; at most one each
  unsigned failed = 0;             // trials, all attempts
  unsigned timeouts = 0;           // trials
  unsigned infeasible_blocks = 0;  // blocks with an out-of-memory, even if another attempt ended well
  std::string last_reason;         // of the newest trial that did not end well

  unsigned valid() const;
  unsigned ended() const;
  const Outcome* find(int64_t block, int64_t session) const;
};

/// Out of memory in this many blocks is a result: infeasible (DESIGN §5).
inline constexpr unsigned kInfeasibleBlocks = 2;

/// Index over results. Independent of the order of the records, and of trials that appear twice. Points to the results,
/// which must outlive it.
class Outcomes {
 public:
  explicit Outcomes(const store::Results& results);
  /// `place` is a point's id, or of a control store::placeOf. Never fails: one without trials has empty outcomes.
  const PointOutcomes& of(plan::TrialKind kind, std::string_view place) const;
  /// The host of a session; its number as text if the results lack it.
  std::string host(int64_t session) const;
  /// Whether workers said that the device cannot give this metric, and none gave it. A timeout is then no value either.
  bool notOnDevice(const std::string& metric) const { return missing_.count(metric) != 0; }

 private:
  std::map<std::pair<plan::TrialKind, std::string>, PointOutcomes, std::less<>> points_;
  std::map<int64_t, std::string> hosts_;
  std::set<std::string> missing_;
};

}  // namespace expc::analysis
