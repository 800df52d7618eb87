#include "runtime/describe/values.h"

namespace expc::describe {

std::vector<double> plain(const std::vector<judge::PointValue>& values) {
  std::vector<double> plain;
  for (const judge::PointValue& value : values) plain.push_back(value.value);
  return plain;
}

bool better(const Metric& metric, double a, double b) {
  return metric.better == plan::Direction::Lower ? a < b : a > b;
}

}  // namespace expc::describe
