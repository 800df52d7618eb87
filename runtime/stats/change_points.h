#pragma once

// Finds steps, drifts and outlying newest values in sequences whose values may be correlated. Medians of sessions come
// in, p-values and places go out; Holm's correction over several sequences is left to the caller.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace expc::stats {

/// The shortest segment; with it, one odd value is not a change.
inline constexpr size_t kLeastSegment = 3;
/// The shortest sequence that is judged.
inline constexpr size_t kLeastCourse = 8;

/// A step between two levels: the index of the first value of the later level, and the p-value of the claim that
/// there is no step.
struct Change {
  size_t at = 0;
  double p = 1;
};

/// The tendency of a whole sequence.
struct Tendency {
  Change step;         // the likeliest one
  double drift_p = 1;  // of the claim that there is no drift
  /// How much better steps explain the values than a steady drift does: twice the logarithm of the likelihood
  /// ratio, minus kStepsCost per step. A step is told from a drift only if this is above 0.
  double over_drift = 0;
};

/// Steps must explain values better than a drift by this much: a step is named where it is e^2.5, 12 times, as likely.
inline constexpr double kStepsCost = 5;

/// The step and the drift of a sequence. Test statistics are likelihood ratios of one or two steps, and of a
/// straight line, each with independent normal noise, against a constant level with first-order autoregressive
/// noise of the likeliest correlation (from 0 on). Steps are searched in the normal scores of the ranks and in the
/// values: small ones show in scores, large ones in values. P-values of steps are the largest under first-order
/// autoregressive noise of any correlation up to that of a random walk; those of the drift under any up to 0.9.
/// They are simulated with a fixed seed, so the same values give the same answer. Values beyond Tukey's outer
/// fences count as if they lay at the fence. Nothing for fewer than kLeastCourse values, or if one is NaN.
std::optional<Tendency> tendencyOf(std::span<const double> values);

/// All steps that are significant at `alpha` and told from a drift, ascending: the likeliest one, and then those of
/// both parts (binary segmentation).
std::vector<Change> changePoints(std::span<const double> values, double alpha);

/// The newest values that lie apart from all others.
struct Outlying {
  size_t count = 0;  // number of these: the last values, all on one side of the others
  double p = 1;      // of the claim that the last is from the normal distribution of the finite others (Student)
};

/// The newest values, as long as they lie outside Tukey's outer fences of all values. Nothing if there are none, or
/// fewer than kLeastCourse - 1 others.
std::optional<Outlying> newestOutlying(std::span<const double> values);

}  // namespace expc::stats
