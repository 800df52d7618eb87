#pragma once

// Reads metrics of a point in one block: measured, the last value of a series, or derived from other metrics. Also
// looks up the values that references have published for it. Estimates over blocks are left to cells.h.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/judge/index.h"
#include "runtime/plan/evaluate.h"

namespace expc::judge {

using plan::Reading;

/// The first metric that `metric` rests on and that the place's device cannot give; "" if there is none.
std::string missingOnDevice(const Index& index, const PlaceOutcomes& place, const std::string& metric);

/// The metric in the outcome at `at`, which has ended. A timeout, and a number that is not finite (it diverged), is
/// worse than every value, also of a derived metric; a metric that this device cannot give is no value even then. It
/// must be one that the index keeps.
Reading readMetric(const Index& index, const std::string& metric, const PlaceOutcomes& place, size_t at);

/// One trial's reading of a metric: a number, or the last of a series. A derived metric is computed from the trial's
/// other metrics and, where it is known, the parameters of its point. A diverged value is worst, as above.
Reading readMetric(const Plan& plan, const Point* point, const Trial& trial, const std::string& metric);

/// One measured value.
struct PointValue {
  int64_t block = 0, session = 0, trial = 0;
  double value = 0;
};

/// The finite values of a metric at a point, by block and session: of valid trials.
std::vector<PointValue> valuesAt(const Index& index, const Metric& metric, const Point& point);

/// The value that the plan's references give for a term over points: a published metric, or a comparison of published
/// ones. It has no interval. Empty where some part is not published. The first reference that has a value counts.
std::optional<double> publishedValue(const Plan& plan, const plan::Term& term);
std::optional<double> publishedValue(const Plan& plan, const Point& point, const Metric& metric);

}  // namespace expc::judge
