#include "runtime/worker/profile/breakdown.h"

#include <algorithm>

namespace expc::profile {

void addView(Amounts& breakdown, std::string_view view, const Amounts& amounts, size_t most) {
  std::vector<std::pair<double, std::string_view>> order;
  for (const auto& [name, amount] : amounts) order.emplace_back(-amount.seconds, name);
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) {
    const bool listed = order.size() <= most || i + 1 < most;
    const std::string name = std::string(view) + "." + (listed ? std::string(order[i].second) : "others");
    breakdown[name] += amounts.find(order[i].second)->second;
  }
}

std::string toText(const Amounts& breakdown) {
  llvm::json::Object object;
  for (const auto& [name, amount] : breakdown)
    object[llvm::json::fixUTF8(name)] = llvm::json::Array{amount.seconds, amount.count, amount.bytes};
  std::string text;
  llvm::raw_string_ostream out(text);
  out << llvm::json::Value(std::move(object));
  return text;
}

Amounts fromText(std::string_view text) {
  Amounts amounts;
  auto value = llvm::json::parse(llvm::StringRef(text.data(), text.size()));
  if (!value) {
    llvm::consumeError(value.takeError());
    return amounts;
  }
  const llvm::json::Object* object = value->getAsObject();
  if (!object) return amounts;
  for (const auto& [name, entry] : *object) {
    const llvm::json::Array* numbers = entry.getAsArray();
    if (!numbers || numbers->size() != 3) continue;
    const auto at = [&](size_t i) { return (*numbers)[i].getAsNumber().value_or(0); };
    amounts[name.str()] = {at(0), at(1), at(2)};
  }
  return amounts;
}

Amounts meanOf(const std::vector<Amounts>& ranks) {
  Amounts sum;
  for (const Amounts& rank : ranks)
    for (const auto& [name, amount] : rank) sum[name] += amount;
  const double share = 1.0 / static_cast<double>(std::max<size_t>(1, ranks.size()));
  for (auto& [name, amount] : sum) {
    amount.seconds *= share;
    amount.count *= share;
    amount.bytes *= share;
  }
  return sum;
}

void addSeries(llvm::json::Object& series, const Amounts& breakdown) {
  for (const auto& [name, amount] : breakdown)
    series[llvm::json::fixUTF8("profile." + name)] = llvm::json::Array{amount.seconds, amount.count, amount.bytes};
}

}  // namespace expc::profile
