#include "runtime/simulate/resolution.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>

namespace expc::simulate {
namespace {

constexpr double kFinest = 1e-3;     // least step, as a share of the range of the values
constexpr double kTolerance = 1e-6;  // rounding errors that are forgiven, as a share of the range

/// The greatest common divisor of two numbers >= 0 by Euclid's algorithm, up to `tolerance`; 0 if it is below
/// `least`.
double commonStep(double a, double b, double least, double tolerance) {
  while (b > tolerance) {
    double rest = std::fmod(a, b);
    // A rest of almost b is a rest of 0 that was rounded down.
    if (b - rest <= tolerance) rest = 0;
    a = b;
    b = rest;
  }
  return a < least ? 0 : a;
}

}  // namespace

Resolution::Resolution(std::vector<double> values, bool share) {
  std::erase_if(values, [](double value) { return !std::isfinite(value); });
  if (values.empty()) return;
  std::ranges::sort(values);
  if (values.front() >= 0) least_ = 0;
  if (share && values.back() <= 1) most_ = 1;
  seen_ = values;
  seen_.erase(llvm::unique(seen_), seen_.end());
  if (values.size() < 3 || seen_.size() < 2 || (seen_.size() < 4 && seen_.size() == values.size())) return;
  const double range = seen_.back() - seen_.front();
  double step = 0;
  for (const double value : seen_) {
    step = commonStep(std::abs(value), step, kFinest * range, kTolerance * range);
    if (value != 0 && step == 0) return;
  }
  // 1/50 is no double: k / 50 is nearer to a printed share than k * 0.02, so a step that divides 1 is kept as its
  // reciprocal.
  step_ = step;
  const double per_unit = std::round(1 / step);
  if (per_unit >= 1 && std::abs(per_unit * step - 1) < kTolerance) per_unit_ = per_unit;
}

double Resolution::rounded(double value) const {
  value = std::clamp(value, least_, most_);
  if (step_ == 0 || !std::isfinite(value)) return value;
  const double rounded = per_unit_ > 0 ? std::round(value * per_unit_) / per_unit_ : std::round(value / step_) * step_;
  // A grid value that was stored is returned as that very double, so that drawn and stored values tie exactly.
  const auto seen = std::ranges::lower_bound(seen_, rounded - step_ / 2);
  return seen != seen_.end() && *seen < rounded + step_ / 2 ? *seen : rounded;
}

}  // namespace expc::simulate
