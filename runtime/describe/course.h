#pragma once

// Follows a metric over time: over sessions, builds and programs, whether a report counts their trials or not. Stays
// with their medians and the changes between them come out; the tests are left to stats/change_points.h.

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/stats/change_points.h"
#include "runtime/store/store.h"

namespace expc::describe {

/// The trials of one point with one program in one session: those that have a value, which a timeout may be; or,
/// without a value, trials none of which ended well.
struct Stay {
  double started = 0;  // Unix time of the first
  size_t side = 0;     // which of the histories has the session
  int64_t session = 0;
  std::string host, build, data;  // of trials: worker build, digest of program and data
  unsigned n = 0;                 // values
  double median = 0;
  unsigned timeouts = 0;    // values that are one: worse than every other
  unsigned diverged = 0;    // values that are not finite: the same
  std::string reason = "";  // of one that has no value: of one of its trials
  bool disturbed = false;   // of one that has no value: something disturbed every trial, so that none says anything
};

/// A level that moved over the whole course, without a step that is told from a drift.
struct LevelDrift {
  double p = 1;
  double before = 0, after = 0;  // medians of the first and of the last third of the stays
  bool or_step = false;          // a step explains the stays as well
};

/// The newest sessions, if they lie apart from all others.
struct Outlying {
  size_t sessions = 0;
  double usual = 0;           // the median of the others since the last change
  std::optional<bool> worse;  // absent: the metric does not say what is better
};

/// A metric at a point, on one kind of machine and with the settings of now.
struct Course {
  std::string metric, label, unit, dimension;
  std::optional<plan::Direction> better;
  std::string environment_class;
  std::vector<Stay> stays = {};  // those that have a value, by time
  double p = 1;                  // that its level never changed in a step; 1 for too few stays
  // Changes of the level, by Holm over all courses at 1 - kConfidence.
  std::vector<stats::Change> changes = {};
  std::optional<LevelDrift> drift = std::nullopt;  // of a course without a change
  std::optional<Outlying> outlying = std::nullopt;
  std::vector<Stay> lost = {};  // those since its last value, by time: what is newest is no value
  unsigned gaps = 0;            // stays without a value before that
};

/// Every measured metric at every point of the plan that has trials, over all histories, each kind of machine apart. A
/// value is the median of a stay, since trials of one session share what that session was like. `metric`: only this
/// one; "": all. A timeout is a value as in a verdict (readMetric), here where it had at least as long as every valid
/// trial of the course took.
std::vector<Course> courses(const Plan& plan, std::span<const store::History> histories, const std::string& metric);

}  // namespace expc::describe
