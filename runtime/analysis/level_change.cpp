#include "runtime/analysis/level_change.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <map>

namespace expc::analysis {
namespace {

using llvm::StringRef;

/// The number of the one that a study calls so; an error says that it is no `what` of `whom`, and which there are.
template <class T>
llvm::Expected<unsigned> numberOf(StringRef wanted, const std::vector<T>& all, std::string T::* name, const char* what,
                                  const std::string& whom) {
  std::vector<std::string> names;
  for (const T& one : all) {
    // A shell takes the quotes of a text away.
    if (wanted == one.*name || ("\"" + wanted + "\"").str() == one.*name) return static_cast<unsigned>(names.size());
    names.push_back(one.*name);
  }
  return llvm::createStringError(fmt::format("'{}' is no {} of {}, which has {}", wanted.str(), what, whom,
                                             names.empty() ? "none" : llvm::join(names, ", ")));
}

llvm::Expected<unsigned> factorOf(const plan::Plan& plan, StringRef name) {
  return numberOf(name.trim(), plan.factors, &plan::Factor::name, "factor", "the study '" + plan.study + "'");
}

llvm::Expected<unsigned> levelOf(const plan::Factor& factor, StringRef label) {
  return numberOf(label.trim(), factor.levels, &plan::Level::label, "level", "'" + factor.name + "'");
}

/// "gpus = 2, layout = nhwc"
llvm::Expected<std::map<unsigned, unsigned>> placeOf(const plan::Plan& plan, StringRef text) {
  std::map<unsigned, unsigned> levels;
  llvm::SmallVector<StringRef, 8> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (const StringRef part : parts) {
    const auto [name, label] = part.split('=');
    auto factor = factorOf(plan, name);
    if (!factor) return factor.takeError();
    auto level = levelOf(plan.factors[*factor], label.ltrim('='));
    if (!level) return level.takeError();
    levels[*factor] = *level;
  }
  return levels;
}

/// Whether two points have the same levels, but for one factor, wherever both have one.
bool agreeElsewhere(const plan::Point& a, const plan::Point& b, unsigned factor) {
  for (unsigned other = 0; other < a.levels.size(); ++other) {
    if (other == factor || a.levels[other] == plan::kInactive || b.levels[other] == plan::kInactive) continue;
    if (a.levels[other] != b.levels[other]) return false;
  }
  return true;
}

bool isAt(const plan::Point& point, const std::map<unsigned, unsigned>& place) {
  return std::all_of(place.begin(), place.end(),
                     [&](const auto& one) { return point.levels[one.first] == one.second; });
}

}  // namespace

llvm::Expected<std::vector<PairOfPoints>> pairsOf(const plan::Plan& plan, std::string_view change) {
  const auto [what, where] = StringRef(change).split('@');
  const auto [name, levels] = what.split(':');
  const auto [from, to] = levels.split("->");
  if (from.trim().empty() || to.trim().empty())
    return llvm::createStringError(
        fmt::format("'{}' is no change of a level, which is written 'precision: fp64 -> fp16 @ gpus = 2'", change));
  auto factor = factorOf(plan, name);
  if (!factor) return factor.takeError();
  auto baseline = levelOf(plan.factors[*factor], from);
  if (!baseline) return baseline.takeError();
  auto treated = levelOf(plan.factors[*factor], to);
  if (!treated) return treated.takeError();
  auto place = placeOf(plan, where.trim());
  if (!place) return place.takeError();
  std::vector<PairOfPoints> pairs;
  for (const plan::Point& before : plan.points)
    for (const plan::Point& after : plan.points)
      if (before.levels[*factor] == *baseline && after.levels[*factor] == *treated &&
          agreeElsewhere(before, after, *factor) && isAt(after, *place))
        pairs.push_back({after.id, before.id});
  if (pairs.empty()) return llvm::createStringError(fmt::format("the plan has no two points with '{}'", change));
  return pairs;
}

}  // namespace expc::analysis
