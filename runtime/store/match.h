#pragma once

// What of the store counts for a plan (DESIGN §3): said here and nowhere else.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::store {

/// Those of `paths` (Plan::data_paths) that a point's parameters name.
std::set<std::string> dataPathsOf(const plan::Point& point, const std::vector<std::string>& paths);

/// The key of a command's program and inputs in Match::data_digests.
std::string commandKey(const plan::Workload& workload);

/// The settings of `kind` as a trial stores them.
std::string settingsText(const plan::Plan& plan, plan::TrialKind kind);

/// The key of a trial of `place` that is measured now. The place must be one of the plan's, and `match` must have the
/// worker of its workload.
TrialKey keyOf(const plan::Plan& plan, const plan::Place& place, plan::TrialKind kind, const Match& match);

/// Says why trials do not count for one plan.
class Counting {
 public:
  /// Both must outlive this.
  Counting(const plan::Plan& plan, const Match& match) : plan_(plan), match_(match) {}
  /// Why an ended trial with this key does not count; "" if it may. Of the plan's points only.
  std::string objection(const TrialKey& key) const;
  /// Why this trial, whose key has no objection, does not; "" if it does.
  std::string objection(const Trial& trial) const;

 private:
  const TrialKey& wanted(const TrialKey& key) const;

  const plan::Plan& plan_;
  const Match& match_;
  mutable std::map<std::pair<plan::TrialKind, std::string>, TrialKey> wanted_;  // by kind and point
};

}  // namespace expc::store
