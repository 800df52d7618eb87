#pragma once

// How a metric went over time: over sessions, builds and programs, whether a report counts them or not.

#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/stats/change_points.h"
#include "runtime/store/history.h"

namespace expc::analysis {

/// The valid trials of one point with one program in one session.
struct Stay {
  double started = 0;  // Unix time of the first
  int64_t session = 0;
  std::string host, build, data;  // of trials: worker build, digest of program and data
  unsigned n = 0;
  double median = 0;
};

/// Trials of one point with one program in one session, none of which ended well: a stay without a value.
struct Lost {
  double started = 0;  // Unix time of the first
  int64_t session = 0;
  std::string reason;  // of one of them
};

/// A metric at a point, on one kind of machine and with the settings of now.
struct Course {
  std::string metric, label, unit, dimension;
  bool lower_is_better = true;
  std::string environment_class;
  std::vector<Stay> stays;  // by time
  double p = 1;             // that it never changed its level; 1 for too few stays
  /// By Holm over all courses at 1 - kConfidence.
  std::vector<stats::Change> changes;
  std::vector<Lost> lost;  // those since its last value, by time: what is newest is no value
};

/// Every measured metric at every point of the plan that has trials, each kind of machine apart. A value is the median
/// of a stay, since trials of one session share what that session was like. `metric`: only this one; "": all.
std::vector<Course> courses(const plan::Plan& plan, const store::History& history, const std::string& metric);

}  // namespace expc::analysis
