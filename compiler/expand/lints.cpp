#include "compiler/expand/lints.h"

#include <set>

namespace expc::expand {
namespace {

EXPC_DIAGNOSTIC(EmptyGrid, Error, "the rules leave the study '{0}' no point", std::string_view);
EXPC_DIAGNOSTIC(UselessRule, Warning, "this rule removes nothing");
EXPC_DIAGNOSTIC(LevelNeverOccurs, Warning, "the {0} of '{1}' never occur{2}", std::string, std::string_view,
                std::string_view);

constexpr size_t kShownLevels = 5;

void noteRules(diag::Builder& builder, const check::Study& study, const std::vector<unsigned>& rules) {
  for (unsigned index : rules) {
    const check::Rule& rule = study.rules[index];
    std::string because = rule.because.empty() ? "" : fmt::format(" because \"{}\"", rule.because);
    builder.note(rule.range, "this rule is {}to blame{}", rules.size() == 1 ? "" : "one of those ", because);
  }
}

/// Whether some choice of the rule's own factors breaks it. True where that cannot be told.
bool canRemove(const check::Selected& whole, const check::Rule& rule) {
  const check::Study& study = *whole.study;
  std::vector<unsigned> needs = closure(*study.workload, rule.parameters);
  std::vector<unsigned> factors;
  uint64_t product = 1;
  for (unsigned parameter : needs)
    if (int factor = study.factor_of[parameter]; factor >= 0) {
      factors.push_back(static_cast<unsigned>(factor));
      product *= whole.levels[factor].size();
      if (product > kMaxPoints) return true;
    }
  // What only asks about arguments guards presets and overrides.
  if (factors.empty() && !needs.empty()) return true;
  diag::Collector ignored;
  diag::Emitter quiet(ignored);
  Assignment at(whole);
  for (uint64_t i = 0; i < product; ++i) {
    uint64_t rest = i;
    for (unsigned factor : factors) {
      at.set(factor, whole.levels[factor][rest % whole.levels[factor].size()]);
      rest /= whole.levels[factor].size();
    }
    if (!at.settle(&needs, quiet)) return true;
    check::Outcome outcome = check::evaluate(*rule.condition, at.environment());
    const check::Value* value = std::get_if<check::Value>(&outcome);
    if (!value || value->asBool() != (rule.kind == ast::RuleKind::Require)) return true;
  }
  return false;
}

void lintLevels(const check::Selected& whole, const Grid& grid, diag::Emitter& emitter) {
  const check::Study& study = *whole.study;
  std::vector<std::vector<bool>> seen;
  for (const check::Factor& factor : study.factors) seen.emplace_back(factor.levels.size(), false);
  for (size_t i = 0; i < grid.size(); ++i)
    for (size_t factor = 0; factor < grid.width; ++factor) seen[factor][grid.point(i)[factor]] = true;
  for (unsigned factor = 0; factor < seen.size(); ++factor) {
    std::vector<unsigned> missing;
    std::string labels;
    for (unsigned level = 0; level < seen[factor].size(); ++level) {
      if (seen[factor][level]) continue;
      if (missing.size() < kShownLevels)
        labels += (missing.empty() ? " " : ", ") + study.factors[factor].levels[level].label;
      missing.push_back(level);
    }
    if (missing.empty()) continue;
    if (missing.size() > kShownLevels) labels += fmt::format(" and {} more", missing.size() - kShownLevels);
    check::Selected alone = whole;
    alone.levels[factor] = missing;
    bool one = missing.size() == 1;
    auto builder = emitter.build(study.factors[factor].levels[missing[0]].range, LevelNeverOccurs,
                                 (one ? "level" : "levels") + labels, study.factors[factor].name, one ? "s" : "");
    noteRules(builder, study, minimalConflict(alone));
    builder.emit();
  }
}

}  // namespace

std::string ruleName(const check::Rule& rule, const source::SourceManager& sources) {
  if (!rule.name.empty()) return rule.name;
  return fmt::format("line {}", sources.position(rule.range.file, rule.range.begin).line);
}

void lintGrid(const check::Selected& whole, const Grid& grid, const source::SourceManager& sources,
              diag::Emitter& emitter) {
  const check::Study& study = *whole.study;
  if (grid.size() == 0) {
    auto builder = emitter.build(study.range, EmptyGrid, study.name);
    noteRules(builder, study, minimalConflict(whole));
    builder.emit();
    return;
  }
  for (const check::Rule& rule : study.rules)
    if (!rule.usesSystem() && !rule.of_workload && !canRemove(whole, rule)) emitter.emit(rule.range, UselessRule);
  lintLevels(whole, grid, emitter);
}

}  // namespace expc::expand
