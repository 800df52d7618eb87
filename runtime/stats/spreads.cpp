#include "runtime/stats/spreads.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace expc::stats {
namespace {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The sum of squared distances from the mean.
double squares(const std::vector<double>& values) {
  const double centre = mean(values);
  double sum = 0;
  for (const double value : values) sum += (value - centre) * (value - centre);
  return sum;
}

}  // namespace

std::optional<Spreads> spreads(std::span<const double> values, std::span<const int64_t> sessions) {
  std::map<int64_t, std::vector<double>> groups;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) return std::nullopt;
    groups[sessions[i]].push_back(values[i]);
  }
  if (groups.size() < 2 || groups.size() == values.size()) return std::nullopt;
  std::vector<double> centres;
  double within = 0;
  for (const auto& [session, members] : groups) {
    centres.push_back(mean(members));
    within += squares(members);
  }
  return Spreads{std::sqrt(within / static_cast<double>(values.size() - groups.size())),
                 std::sqrt(squares(centres) / static_cast<double>(groups.size() - 1)),
                 static_cast<unsigned>(groups.size())};
}

}  // namespace expc::stats
