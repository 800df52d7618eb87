#include "runtime/plan/bound.h"

#include <cmath>

namespace expc::plan {
namespace {

double slack(double end) { return 1e-12 * std::abs(end); }
bool atLeast(double value, double end) { return value >= end - slack(end); }
bool above(double value, double end) { return value > end + slack(end); }

}  // namespace

bool satisfies(const Bound& bound, double low, double high) {
  switch (bound.relation) {
    case Relation::GreaterEqual:
      return atLeast(low, bound.low);
    case Relation::Greater:
      return above(low, bound.low);
    case Relation::LessEqual:
      return !above(high, bound.low);
    case Relation::Less:
      return !atLeast(high, bound.low);
    case Relation::Equal:
      return atLeast(low, bound.low) && !above(high, bound.low);
    case Relation::Within:
      return atLeast(low, bound.low) && !above(high, bound.high);
  }
  return false;
}

bool violates(const Bound& bound, double low, double high) {
  switch (bound.relation) {
    case Relation::GreaterEqual:
      return !atLeast(high, bound.low);
    case Relation::Greater:
      return !above(high, bound.low);
    case Relation::LessEqual:
      return above(low, bound.low);
    case Relation::Less:
      return atLeast(low, bound.low);
    case Relation::Equal:
      return !atLeast(high, bound.low) || above(low, bound.low);
    case Relation::Within:
      return !atLeast(high, bound.low) || above(low, bound.high);
  }
  return false;
}

}  // namespace expc::plan
