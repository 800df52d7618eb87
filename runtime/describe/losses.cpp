#include "runtime/describe/losses.h"

#include <algorithm>
#include <functional>
#include <set>

namespace expc::describe {

std::vector<const PointStatus*> statusesOf(const Judgement& judgement, const Criterion& criterion) {
  std::set<std::string> points;
  for (const plan::Cell& cell : criterion.cells)
    for (const Place& place : cell.points) points.insert(place.point);
  std::vector<const PointStatus*> statuses;
  for (const std::string& point : points)
    if (const auto* status = judgement.status(point, criterion.cells.front().kind)) statuses.push_back(status);
  return statuses;
}

bool onlyTimesOut(const Judgement& judgement, const Criterion& criterion) {
  return std::ranges::any_of(statusesOf(judgement, criterion), &PointStatus::onlyTimesOut);
}

std::vector<ArmLosses> unevenLosses(const Judgement& judgement, const Criterion& criterion) {
  constexpr double kUneven = 0.1;  // a threshold for a remark, not a test
  std::vector<ArmLosses> arms;
  for (const PointStatus* status : statusesOf(judgement, criterion)) {
    const unsigned lost = status->failed + status->infeasible + status->invalid;
    arms.push_back({status->point, lost, lost + status->valid + status->timeouts});
  }
  std::ranges::stable_sort(arms, std::greater(), &ArmLosses::share);
  const bool uneven = !arms.empty() && arms.front().share() - arms.back().share() >= kUneven;
  return uneven ? arms : std::vector<ArmLosses>();
}

}  // namespace expc::describe
