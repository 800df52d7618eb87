#include "compiler/driver/estimate.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <numeric>
#include <vector>

#include "runtime/store/store.h"

namespace expc::driver {

namespace {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Nothing if no point of the kind was ever measured.
std::optional<double> secondsOfKind(const plan::Plan& plan, const plan::KindDesign& kind,
                                    const store::Results& results) {
  std::map<std::string, std::vector<double>> durations;
  for (const store::Trial& trial : results.trials)
    if (trial.kind == kind.kind && trial.status == store::TrialStatus::Valid)
      durations[trial.point].push_back(trial.ended - trial.started);
  if (durations.empty()) return std::nullopt;

  std::vector<double> medians;
  for (const auto& [point, values] : durations) medians.push_back(median(values));
  const auto available =
      std::count_if(plan.points.begin(), plan.points.end(), [](const plan::Point& p) { return p.startable(); });
  const double known = std::accumulate(medians.begin(), medians.end(), 0.0);
  const double unknown =
      std::max<double>(0, static_cast<double>(available) - static_cast<double>(medians.size())) * median(medians);
  return (known + unknown) * kind.repeat;
}

}  // namespace

std::optional<double> estimateSeconds(const plan::Plan& plan, const std::string& results_folder, bool null_cards) {
  if (!std::filesystem::exists(std::filesystem::path(results_folder) / store::kDatabaseName)) return std::nullopt;
  std::vector<std::string> messages;
  llvm::Expected<store::Store> store = store::Store::openForReading(results_folder, messages);
  if (!store) {
    llvm::consumeError(store.takeError());  // an estimate is a courtesy; `run` and `report` tell what is wrong
    return std::nullopt;
  }
  llvm::Expected<store::Results> results = store->loadLatest(plan, null_cards);
  if (!results) {
    llvm::consumeError(results.takeError());
    return std::nullopt;
  }
  double total = 0;
  for (const plan::KindDesign& kind : plan.design.kinds) {
    const std::optional<double> seconds = secondsOfKind(plan, kind, *results);
    if (!seconds) return std::nullopt;
    total += *seconds;
  }
  return total;
}

}  // namespace expc::driver
