#include "compiler/lower/pairs.h"

#include <algorithm>
#include <set>

#include "compiler/expand/lints.h"

namespace expc::lower {
namespace {

/// Why the grid lacks the point at `levels`.
std::string whyMissing(const check::Selected& selected, const std::vector<unsigned>& levels, unsigned over,
                       const source::SourceManager& sources) {
  const check::Study& study = *selected.study;
  const auto& kept = selected.levels[over];
  if (std::find(kept.begin(), kept.end(), levels[over]) == kept.end())
    return fmt::format("the selection leaves out {}={}", study.factors[over].name,
                       study.factors[over].levels[levels[over]].label);
  diag::Collector ignored;
  diag::Emitter quiet(ignored);
  expand::Assignment at(selected);
  at.set(levels);
  if (!at.settle(nullptr, quiet)) return "";
  for (const check::Rule& rule : study.rules) {
    if (rule.usesSystem()) continue;
    check::Outcome outcome = check::evaluate(*rule.condition, at.environment());
    const check::Value* value = std::get_if<check::Value>(&outcome);
    if (value && value->asBool() == (rule.kind == ast::RuleKind::Require)) continue;
    std::string because = rule.because.empty() ? "" : fmt::format(" ({})", rule.because);
    return fmt::format("the rule of {} removes it{}", expand::ruleName(rule, sources), because);
  }
  return "";
}

}  // namespace

size_t PointIndex::Hash::operator()(const std::vector<unsigned>& levels) const {
  size_t hash = 1469598103934665603ull;  // FNV-1a
  for (unsigned level : levels) hash = (hash ^ level) * 1099511628211ull;
  return hash;
}

PointIndex::PointIndex(const expand::Grid& grid) {
  index_.reserve(grid.size());
  for (size_t i = 0; i < grid.size(); ++i) {
    auto point = grid.point(i);
    index_.emplace(std::vector<unsigned>(point.begin(), point.end()), static_cast<int>(i));
  }
}

int PointIndex::find(const std::vector<unsigned>& levels) const {
  auto found = index_.find(levels);
  return found == index_.end() ? -1 : found->second;
}

Pairing pairUp(const check::Selected& selected, const expand::Grid& grid, const PointIndex& index,
               const check::Comparison& comparison, const source::SourceManager& sources) {
  Pairing result;
  std::set<std::string> reasons;
  result.partner.reserve(grid.size());
  for (size_t i = 0; i < grid.size(); ++i) {
    auto point = grid.point(i);
    std::vector<unsigned> levels(point.begin(), point.end());
    unsigned own = levels[comparison.over];
    bool baseline = comparison.previous ? own == 0 : own == comparison.against;
    if (baseline) {
      result.partner.push_back(Pairing::kNotTreated);
      continue;
    }
    levels[comparison.over] = comparison.previous ? own - 1 : comparison.against;
    int partner = index.find(levels);
    result.partner.push_back(partner);
    if (partner >= 0) {
      ++result.pairs;
      continue;
    }
    ++result.without;
    if (reasons.size() < 3) reasons.insert(whyMissing(selected, levels, comparison.over, sources));
  }
  for (const std::string& reason : reasons)
    if (!reason.empty()) result.why += (result.why.empty() ? "" : "; ") + reason;
  return result;
}

}  // namespace expc::lower
