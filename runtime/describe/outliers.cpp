#include "runtime/describe/outliers.h"

#include <algorithm>

#include "runtime/describe/values.h"
#include "runtime/judge/readings.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

namespace expc::describe {

std::vector<Outlier> outliersOf(const judge::Index& index, const Metric& metric) {
  std::vector<Outlier> outliers;
  for (const Point& point : index.plan().points) {
    const std::vector<judge::PointValue> values = judge::valuesAt(index, metric, point);
    const std::vector<double> all = plain(values);
    for (const unsigned i : stats::tukeyOutliers(all))
      outliers.push_back(
          {metric.name, point.id, values[i].trial, values[i].block, values[i].value, *stats::medianOf(all)});
  }
  std::ranges::sort(outliers, {}, &Outlier::trial);
  return outliers;
}

}  // namespace expc::describe
