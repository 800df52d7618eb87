#include "runtime/analysis/bound.h"

#include <algorithm>

namespace expc::analysis {
namespace {

using plan::Bound;
using plan::Relation;

}  // namespace

const plan::Bound& boundOf(const plan::Criterion& criterion, const plan::Cell& cell) {
  return cell.bound ? *cell.bound : criterion.bound;
}

double margin(const Bound& bound, double low, double high) {
  switch (bound.relation) {
    case Relation::GreaterEqual:
    case Relation::Greater:
      return low - bound.low;
    case Relation::LessEqual:
    case Relation::Less:
      return bound.low - high;
    case Relation::Equal:
      return std::min(low - bound.low, bound.low - high);
    case Relation::Within:
      return std::min(low - bound.low, bound.high - high);
  }
  return 0;
}

std::string violation(const Bound& bound) {
  const size_t space = bound.text.find(' ');
  const std::string number = space == std::string::npos ? bound.text : bound.text.substr(space + 1);
  switch (bound.relation) {
    case Relation::GreaterEqual:
      return "below " + number;
    case Relation::Greater:
      return "not above " + number;
    case Relation::LessEqual:
      return "above " + number;
    case Relation::Less:
      return "not below " + number;
    case Relation::Equal:
      return "not equal to " + number;
    case Relation::Within:
      return "outside " + number;
  }
  return "against " + bound.text;
}

std::string_view extreme(const Bound& bound) {
  switch (bound.relation) {
    case Relation::GreaterEqual:
    case Relation::Greater:
      return "smallest";
    case Relation::LessEqual:
    case Relation::Less:
      return "largest";
    case Relation::Equal:
      return "farthest";
    case Relation::Within:
      return "closest to an end";
  }
  return "";
}

std::vector<double> ends(const Bound& bound) {
  if (bound.relation == Relation::Within) return {bound.low, bound.high};
  return {bound.low};
}

}  // namespace expc::analysis
