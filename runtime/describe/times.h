#pragma once

// How long a study takes: by what references publish of its points, and as the budget that more trials need.

#include <cstddef>
#include <optional>

#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"

namespace expc::describe {

/// Times for a plan's trials from published values, or as the design states them.
struct PublishedTime {
  /// Sums over all trials whose time is known, one after the other: seconds, and seconds times devices.
  double seconds = 0, device_seconds = 0;
  /// For how many of all pairs of a startable point and a kind of trial the time is known.
  size_t known = 0, of = 0;
  bool stated = false;  // by the design, which says how long a trial takes, at least for one kind
};

/// Returns how long the trials take if they take what the design states (`takes`), else if they are as fast as
/// references publish for their points: by the time of an epoch, a step or an image. Nothing if neither is known.
std::optional<PublishedTime> publishedTime(const Plan& plan);

/// Returns a budget for `more` seconds of trials beside those that there are, with half as much again since trials may
/// take longer than before; 0 if the plan's is enough, or there is none.
double largerBudget(const Plan& plan, const Judgement& judgement, double more);

}  // namespace expc::describe
