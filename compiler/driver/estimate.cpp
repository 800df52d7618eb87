#include "compiler/driver/estimate.h"

#include <algorithm>

#include "runtime/analysis/index.h"
#include "runtime/store/store.h"

namespace expc::driver {

std::optional<double> estimateSeconds(const plan::Plan& plan, const std::string& results_folder, bool null_cards) {
  if (!store::isStore(results_folder)) return std::nullopt;
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
  const analysis::Index index(plan, *results);
  const auto startable =
      std::count_if(plan.points.begin(), plan.points.end(), [](const plan::Point& point) { return point.startable(); });
  double total = 0;
  for (const plan::KindDesign& design : plan.design.kinds) {
    const std::optional<double> seconds = index.typicalSeconds(design.kind);
    if (!seconds) return std::nullopt;
    total += *seconds * static_cast<double>(startable) * design.repeat;
  }
  return total;
}

}  // namespace expc::driver
