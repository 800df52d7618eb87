#include "runtime/analysis/level_change.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringRef.h>

#include <algorithm>
#include <map>

namespace expc::analysis {
namespace {

using llvm::StringRef;

template <class Named, class NameOf>
std::string namesOf(const std::vector<Named>& all, const NameOf& name_of) {
  std::vector<std::string> names;
  for (const Named& one : all) names.push_back(name_of(one));
  return llvm::join(names, ", ");
}

/// Finds factors and levels of a plan by what a study calls them.
class Reader {
 public:
  explicit Reader(const plan::Plan& plan) : plan_(plan) {}

  llvm::Expected<unsigned> factor(StringRef name) const {
    const auto found = std::find_if(plan_.factors.begin(), plan_.factors.end(),
                                    [&](const plan::Factor& one) { return name == one.name; });
    if (found != plan_.factors.end()) return static_cast<unsigned>(found - plan_.factors.begin());
    return llvm::createStringError(
        fmt::format("'{}' is no factor of the study '{}', which has {}", name.str(), plan_.study,
                    plan_.factors.empty() ? "none" : namesOf(plan_.factors, [](const auto& one) { return one.name; })));
  }

  llvm::Expected<unsigned> level(unsigned factor, StringRef label) const {
    const std::vector<plan::Level>& levels = plan_.factors[factor].levels;
    const auto found =
        // A shell takes the quotes of a text away.
        std::find_if(levels.begin(), levels.end(), [&](const plan::Level& one) {
          return label == one.label || StringRef(one.label) == ("\"" + label + "\"").str();
        });
    if (found != levels.end()) return static_cast<unsigned>(found - levels.begin());
    return llvm::createStringError(fmt::format("'{}' is no level of '{}', which has {}", label.str(),
                                               plan_.factors[factor].name,
                                               namesOf(levels, [](const auto& one) { return one.label; })));
  }

  /// "gpus = 2, layout = nhwc"
  llvm::Expected<std::map<unsigned, unsigned>> place(StringRef text) const {
    std::map<unsigned, unsigned> levels;
    llvm::SmallVector<StringRef, 8> parts;
    text.split(parts, ',', -1, /*KeepEmpty=*/false);
    for (const StringRef part : parts) {
      const auto [name, label] = part.split('=');
      auto number = factor(name.trim());
      if (!number) return number.takeError();
      auto at = level(*number, label.ltrim('=').trim());
      if (!at) return at.takeError();
      levels[*number] = *at;
    }
    return levels;
  }

 private:
  const plan::Plan& plan_;
};

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
  const Reader reader(plan);
  auto factor = reader.factor(name.trim());
  if (!factor) return factor.takeError();
  auto baseline = reader.level(*factor, from.trim());
  if (!baseline) return baseline.takeError();
  auto treated = reader.level(*factor, to.trim());
  if (!treated) return treated.takeError();
  auto place = reader.place(where.trim());
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
