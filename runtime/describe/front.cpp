#include "runtime/describe/front.h"

#include <algorithm>
#include <map>

#include "runtime/describe/values.h"
#include "runtime/judge/readings.h"
#include "runtime/stats/estimators.h"

namespace expc::describe {
namespace {

std::map<std::string, double> mediansOf(const judge::Index& index, const Metric& metric) {
  std::map<std::string, double> medians;
  for (const Point& point : index.plan().points)
    if (const std::vector<judge::PointValue> values = judge::valuesAt(index, metric, point); !values.empty())
      medians[point.id] = *stats::medianOf(plain(values));
  return medians;
}

}  // namespace

Front paretoFront(const judge::Index& index, const Metric& first, const Metric& second) {
  Front front{first.name, second.name, {}, 0};
  const std::map<std::string, double> of_first = mediansOf(index, first), of_second = mediansOf(index, second);
  std::vector<FrontPoint> all;
  for (const Point& point : index.plan().points)
    if (of_first.count(point.id) && of_second.count(point.id))
      all.push_back({point.id, of_first.at(point.id), of_second.at(point.id)});
  std::ranges::stable_sort(all, [&](const FrontPoint& a, const FrontPoint& b) {
    return better(first, a.first, b.first) || (a.first == b.first && better(second, a.second, b.second));
  });
  // Best in the first metric come first, so one is beaten by what came before unless it is better in the second.
  for (const FrontPoint& point : all) {
    const FrontPoint* last = front.points.empty() ? nullptr : &front.points.back();
    if (!last || better(second, point.second, last->second) ||
        (point.first == last->first && point.second == last->second))
      front.points.push_back(point);
    else
      ++front.beaten;
  }
  return front;
}

}  // namespace expc::describe
