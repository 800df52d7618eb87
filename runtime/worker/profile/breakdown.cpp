// Breakdowns: sums by name, their text form, and their mean over ranks. Ranks may have seen
// different names (rank 0 prints, a loader waits), so they exchange texts and not arrays.

#include "runtime/worker/profile/breakdown.h"

#include <ATen/ATen.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/FormatVariadic.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/worker/comm/communicator.h"

namespace expc::profile {

void addView(Amounts& breakdown, std::string_view view, const Amounts& amounts, size_t most) {
  // Negated times sort the largest first; equal times by name, so that the order does not vary.
  std::vector<std::pair<double, std::string_view>> order;
  for (const auto& [name, amount] : amounts) order.emplace_back(-amount.seconds, name);
  std::ranges::sort(order);
  for (size_t i = 0; i < order.size(); ++i) {
    const bool listed = order.size() <= most || i + 1 < most;
    const std::string name = std::string(view) + "." + (listed ? std::string(order[i].second) : "others");
    breakdown[name] += amounts.find(order[i].second)->second;
  }
}

std::string toText(const Amounts& breakdown) {
  json::Object object;
  for (const auto& [name, amount] : breakdown)
    object[json::fixUTF8(name)] = json::Array{amount.seconds, amount.count, amount.bytes};
  return llvm::formatv("{0}", json::Value(std::move(object)));
}

Amounts fromText(std::string_view text) {
  Amounts amounts;
  auto value = expectedToOptional(json::parse(StringRef(text.data(), text.size())));
  const json::Object* object = value ? value->getAsObject() : nullptr;
  if (!object) return amounts;
  for (const auto& [name, entry] : *object) {
    const json::Array* numbers = entry.getAsArray();
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
  const double share = 1.0 / double(std::max<size_t>(1, ranks.size()));
  for (auto& [name, amount] : sum) {
    amount.seconds *= share;
    amount.count *= share;
    amount.bytes *= share;
  }
  return sum;
}

void addSeries(json::Object& series, const Amounts& breakdown) {
  for (const auto& [name, amount] : breakdown)
    series[json::fixUTF8("profile." + name)] = json::Array{amount.seconds, amount.count, amount.bytes};
}

std::vector<std::string> gatherTexts(comm::Communicator& communicator, const std::string& text) {
  const double longest = communicator.allReduce(double(text.size()), comm::Reduction::Max);
  // All-gather wants equal sizes: pad with blanks to the longest. For that a text must not end with
  // white space.
  auto bytes = at::full({int64_t(longest)}, ' ', at::kByte);
  std::memcpy(bytes.mutable_data_ptr(), text.data(), text.size());
  std::vector<std::string> texts;
  for (const auto& one : communicator.allGather(bytes)) {
    const std::string_view padded(static_cast<const char*>(one.const_data_ptr()), size_t(one.numel()));
    texts.emplace_back(padded.substr(0, padded.find_last_not_of(' ') + 1));
  }
  return texts;
}

void reduce(comm::Communicator& communicator, const std::vector<Measure>& measures, json::Object& metrics) {
  // A value that is not finite has diverged, on whichever rank. Max and Sum treat NaN differently,
  // and may drop it, so ranks first agree on a flag: 0 for a number, 0.5 for diverged, 1 for
  // missing; the largest wins.
  constexpr double kDiverged = 0.5, kLacks = 1;
  std::vector<double> lacking, values;
  for (const Measure& measure : measures) {
    lacking.push_back(!measure.value ? kLacks : std::isfinite(*measure.value) ? 0 : kDiverged);
    values.push_back(lacking.back() == 0 ? *measure.value : 0);
  }
  lacking = communicator.allReduce(std::move(lacking), comm::Reduction::Max);
  const auto largest = communicator.allReduce(values, comm::Reduction::Max);
  const auto sum = communicator.allReduce(values, comm::Reduction::Sum);
  for (size_t i = 0; i < measures.size(); ++i) {
    json::Value& metric = metrics[measures[i].name];
    if (lacking[i] == kLacks)
      metric = nullptr;
    else if (lacking[i] == kDiverged)
      metric = std::nan("");
    else if (measures[i].over == Over::Max)
      metric = largest[i];
    else
      metric = measures[i].over == Over::Sum ? sum[i] : sum[i] / communicator.worldSize();
  }
}

void gather(comm::Communicator& communicator, Amounts& breakdown, std::vector<std::string>& notes) {
  std::vector<Amounts> ranks;
  for (const std::string& text : gatherTexts(communicator, toText(breakdown))) ranks.push_back(fromText(text));
  breakdown = meanOf(ranks);
  std::string lines;
  for (const std::string& note : std::exchange(notes, {})) lines += note + "\n";
  // The final dot keeps the last line's newline from being taken for padding.
  for (const std::string& text : gatherTexts(communicator, lines + ".")) {
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      const std::string note = text.substr(at, end - at);
      if (!is_contained(notes, note)) notes.push_back(note);
    }
  }
}

}  // namespace expc::profile
