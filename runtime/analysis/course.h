#pragma once

// How a metric went over time: over sessions, builds and programs, whether a report counts them or not.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/stats/change_points.h"
#include "runtime/store/store.h"

namespace expc::analysis {

/// The valid trials of one point with one program in one session; or trials none of which ended well, without a value.
struct Stay {
  double started = 0;  // Unix time of the first
  size_t side = 0;     // which of the histories has the session
  int64_t session = 0;
  std::string host, build, data;  // of trials: worker build, digest of program and data
  unsigned n = 0;
  double median = 0;
  std::string reason = "";  // of one that has no value: of one of its trials
};

/// A metric at a point, on one kind of machine and with the settings of now.
struct Course {
  std::string metric, label, unit, dimension;
  std::optional<plan::Direction> better;
  std::string environment_class;
  std::vector<Stay> stays = {};  // those that have a value, by time
  double p = 1;                  // that it never changed its level; 1 for too few stays
  /// By Holm over all courses at 1 - kConfidence.
  std::vector<stats::Change> changes = {};
  std::vector<Stay> lost = {};  // those since its last value, by time: what is newest is no value
};

/// Every measured metric at every point of the plan that has trials, over all histories, each kind of machine apart. A
/// value is the median of a stay, since trials of one session share what that session was like. `metric`: only this
/// one; "": all.
std::vector<Course> courses(const plan::Plan& plan, std::span<const store::History> histories,
                            const std::string& metric);

}  // namespace expc::analysis
