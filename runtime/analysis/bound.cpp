#include "runtime/analysis/bound.h"

#include <fmt/format.h>

#include "runtime/plan/plan_words.h"

namespace expc::analysis {

using plan::Bound;

const plan::Bound& boundOf(const plan::Criterion& criterion, const plan::Cell& cell) {
  return cell.bound ? *cell.bound : criterion.bound;
}

std::string violation(const Bound& bound) {
  static constexpr std::string_view kViolated[] = {"below",     "not above",    "above",
                                                   "not below", "not equal to", "outside"};
  return fmt::format("{} {}", plan::words::name(kViolated, bound.relation),
                     bound.text.substr(bound.text.find(' ') + 1));
}

std::string_view extreme(const Bound& bound) {
  static constexpr std::string_view kExtremes[] = {"smallest", "smallest", "largest",
                                                   "largest",  "farthest", "closest to an end"};
  return plan::words::name(kExtremes, bound.relation);
}

std::vector<double> ends(const Bound& bound) {
  if (bound.relation == plan::Relation::Within) return {bound.low, bound.high};
  return {bound.low};
}

}  // namespace expc::analysis
