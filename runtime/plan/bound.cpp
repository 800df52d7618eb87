#include "runtime/plan/bound.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace expc::plan {
namespace {

double slack(double end) { return 1e-12 * std::abs(end); }
bool atLeast(double value, double end) { return value >= end - slack(end); }
bool above(double value, double end) { return value > end + slack(end); }

/// The ends that a value must not go beyond; `open`: nor be.
struct Range {
  std::optional<double> low, high;
  bool open = false;
};

Range rangeOf(const Bound& bound) {
  switch (bound.relation) {
    case Relation::GreaterEqual:
    case Relation::Greater:
      return {bound.low, {}, bound.relation == Relation::Greater};
    case Relation::LessEqual:
    case Relation::Less:
      return {{}, bound.low, bound.relation == Relation::Less};
    case Relation::Equal:
      return {bound.low, bound.low};
    case Relation::Within:
      return {bound.low, bound.high};
  }
  return {};
}

}  // namespace

bool satisfies(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return (!range.low || (range.open ? above(low, *range.low) : atLeast(low, *range.low))) &&
         (!range.high || !(range.open ? atLeast(high, *range.high) : above(high, *range.high)));
}

bool violates(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return (range.low && !(range.open ? above(high, *range.low) : atLeast(high, *range.low))) ||
         (range.high && (range.open ? atLeast(low, *range.high) : above(low, *range.high)));
}

double margin(const Bound& bound, double low, double high) {
  const Range range = rangeOf(bound);
  return std::min(range.low ? low - *range.low : INFINITY, range.high ? *range.high - high : INFINITY);
}

std::vector<double> ends(const Bound& bound) {
  if (bound.relation == Relation::Within) return {bound.low, bound.high};
  return {bound.low};
}

const Bound& boundOf(const Criterion& criterion, const Cell& cell) {
  return cell.bound ? *cell.bound : criterion.bound;
}

}  // namespace expc::plan
