#include "runtime/store/records.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <set>

#include "runtime/plan/json.h"

namespace expc::store {

std::string SessionPlace::machine() const { return llvm::join(nodes, "+"); }

bool SessionPlace::isOn(std::string_view name) const {
  return std::find(nodes.begin(), nodes.end(), name) != nodes.end() || machine() == name;
}

std::vector<Worker> Match::workers() const {
  std::vector<Worker> all;
  for (const std::optional<Worker>& worker : {built_in, command})
    if (worker) all.push_back(*worker);
  std::sort(all.begin(), all.end());
  return all;
}

void TrialValues::supply(const std::string& metric, std::optional<double> value) {
  const auto found = std::find(not_on_device.begin(), not_on_device.end(), metric);
  if (!value || found == not_on_device.end()) return;
  not_on_device.erase(found);
  metrics[metric] = *value;
}

unsigned Trial::nodes() const {
  if (devices.find("\"node\":") == std::string::npos) return 1;  // most do not name any, and there are many
  const auto slots = llvm::expectedToOptional(plan::parseJson(devices));
  std::set<llvm::StringRef> names;
  if (slots && slots->getAsArray())
    for (const llvm::json::Value& slot : *slots->getAsArray())
      if (const auto* device = slot.getAsObject())
        if (const auto name = device->getString("node")) names.insert(*name);
  return std::max<unsigned>(1, names.size());
}

}  // namespace expc::store
