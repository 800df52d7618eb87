#pragma once

// Where the difference between two levels comes from: the categories of their profile trials, side by side. A
// description: its intervals say how much blocks vary, each for itself, and decide nothing.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/describe/description.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/stats/interval.h"
#include "runtime/store/records.h"

namespace expc::describe {

/// One category at both levels. Means over the blocks that have both, for one step.
struct CategoryShare {
  std::string name;
  double treated = 0, baseline = 0;              // seconds
  double treated_count = 0, baseline_count = 0;  // how often; 0: not counted
  /// The share of the whole difference, 1 for all of it. Absent if both steps take the same time, and for a category
  /// that runs beside the others.
  std::optional<double> share;
  bool beside = false;
  bool rest = false;                     // what the other categories leave of the step, or count twice
  std::vector<double> differences = {};  // seconds, by block
  std::optional<stats::Interval> interval = std::nullopt;  // of the difference; see Attribution::interval

  double difference() const { return treated - baseline; }
};

/// One way to divide the step's time. The categories that run one after the other, and the rest, add up to it.
struct AttributionView {
  std::string name;  // "step", "operator", "api", "device", "kernel" (runtime/worker/profile/breakdown.h)
  std::vector<CategoryShare> categories;  // the largest difference first, the rest and what runs beside last
};

/// A comparison of the same two points by times, or rates, of timed trials.
struct TimedEffect {
  std::string comparison;
  std::optional<stats::Interval> interval;  // at kConfidence; absent: too few pairs
  bool may_be_none = false;                 // the interval includes no effect
};

struct Attribution {
  std::string treated, baseline;         // points
  std::vector<std::string> comparisons;  // that compare them
  std::vector<std::string> criteria;     // that judge them
  unsigned blocks = 0;
  double treated_seconds = 0, baseline_seconds = 0;  // of a step, under the profile
  std::vector<double> differences;                   // of these, by block
  /// The interval of the difference at kConfidence: signed rank (stats::signedRank) over the blocks that hold both
  /// levels. Absent if there are too few blocks. Its centre is that of the blocks, not the mean, which is what
  /// categories add up to.
  std::optional<stats::Interval> interval;
  std::vector<AttributionView> views;
  std::vector<TimedEffect> timed;  // in the plan's order

  double difference() const { return treated_seconds - baseline_seconds; }
  /// The first timed comparison whose interval includes no effect: what is divided here may be none. Null: there is no
  /// such.
  const TimedEffect* mayBeNone() const;
};

/// Attributes the difference of each pair of points that a comparison compares and that have profile trials in the same
/// block. Pairs that criteria judge come first, each group in the plan's order. Worker's series that are no breakdown,
/// or contradict themselves, are passed over.
std::vector<Attribution> attribute(const Findings& findings);

/// Attributes the difference of one pair, whether or not a comparison compares it. Nothing if no block has a profile of
/// both.
std::optional<Attribution> attributePair(const Findings& findings, const Place& treated, const Place& baseline);

/// Two points that a change of one factor's level leads between: what `report --explain` asks about.
struct PairOfPoints {
  Place treated, baseline;
};

/// Reads "precision: fp64 -> fp16 @ gpus = 2, layout = nhwc" and returns every pair of points with these levels that
/// agree in all other factors active at both; the first point of a pair is the baseline. What stands behind @ may be
/// left out. Errors name what the plan has instead: an unknown factor or level, a text of another form, no such pair.
Expected<std::vector<PairOfPoints>> pairsOf(const Plan& plan, std::string_view change);

/// At most `most` categories of a view: those after become one, "others", in front of the rest and what runs beside.
std::vector<CategoryShare> shortened(const AttributionView& view, size_t most);

}  // namespace expc::describe
