#include "runtime/describe/values.h"

#include "runtime/stats/estimators.h"

namespace expc::describe {

std::vector<double> plain(const std::vector<judge::PointValue>& values) {
  std::vector<double> plain;
  for (const judge::PointValue& value : values) plain.push_back(value.value);
  return plain;
}

double medianOf(const std::vector<double>& values) { return *stats::orderStatistics(values).estimate(); }

bool better(const plan::Metric& metric, double a, double b) {
  return metric.better == plan::Direction::Lower ? a < b : a > b;
}

}  // namespace expc::describe
