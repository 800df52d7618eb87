#pragma once

// Finds steps, drifts and outlying newest values in sequences whose values may be correlated. Medians of sessions come
// in, p-values and places go out; Holm's correction over several sequences is left to the caller.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace expc::stats {

/// Fewer values than this are no segment, so that one odd value is no change.
inline constexpr size_t kLeastSegment = 3;
/// A shorter sequence is not judged.
inline constexpr size_t kLeastCourse = 8;

/// A step between two levels: the first value of the later one, and the p-value of the claim that there is no step.
struct Change {
  size_t at = 0;
  double p = 1;
};

/// The tendency of a whole sequence.
struct Tendency {
  Change step;         // the likeliest one
  double drift_p = 1;  // of the claim that there is no drift
  /// Twice the logarithm of how much better steps explain the values than a steady drift does, less kStepsCost for each
  /// step. Only above 0 a step is told from a drift.
  double over_drift = 0;
};

/// Steps must explain values better than a drift by this much: a step is named where it is e^2.5, 12 times, as likely.
inline constexpr double kStepsCost = 5;

/// Likelihood ratios of one or two steps, and of a straight line, each with independent normal noise, to a constant
/// level with first-order autoregressive noise of the likeliest correlation (from 0 on). Steps are looked for in the
/// normal scores of the ranks and in the values: small ones show in scores, large ones in values. Their p-values are
/// the largest under first-order autoregressive noise of any correlation up to that of a random walk, and that of the
/// drift under any up to 0.9: simulated with a fixed seed, so the same values give the same answer. An outlier
/// counts as one at Tukey's outer fence. Nothing for fewer than kLeastCourse values, or where one is NaN.
std::optional<Tendency> tendencyOf(std::span<const double> values);

/// All steps that are significant at `alpha` and told from a drift, ascending: the likeliest, and then those of both
/// parts (binary segmentation).
std::vector<Change> changePoints(std::span<const double> values, double alpha);

/// The newest values that lie apart from all others.
struct Outlying {
  size_t count = 0;  // they are the last ones, on one side of the others
  double p = 1;      // of the claim that the last is from the normal distribution of the finite others (Student)
};

/// The last values outside Tukey's outer fences of all. Nothing if there are none, or fewer than kLeastCourse - 1
/// others.
std::optional<Outlying> newestOutlying(std::span<const double> values);

}  // namespace expc::stats
