#include "compiler/expand/space.h"

#include <algorithm>
#include <set>

#include "compiler/expand/walk.h"

namespace expc::expand {
namespace {

bool equalArguments(const select::Selected& selected, unsigned parameter) {
  const auto& first = selected.arguments[0][parameter];
  return std::all_of(selected.arguments.begin(), selected.arguments.end(),
                     [&](const auto& use) { return use[parameter] == first; });
}

}  // namespace

Space::Space(const select::Selected& selected) : selected_(selected) {
  for (unsigned factor = 0; factor < width(); ++factor) {
    kept_.emplace_back(study().factors[factor].levels.size(), false);
    for (unsigned level : selected.levels[factor]) kept_[factor][level] = true;
  }
  for (unsigned i = 0; i < study().workload->parameters.size(); ++i) differs_.push_back(!equalArguments(selected, i));
  // Factors come after those that their activity reads; check has refused cycles.
  position_.assign(width(), 0);
  const auto needs = [&](size_t factor, auto visit) {
    if (const check::Formula* active = study().factors[factor].active.get())
      for (unsigned read : readsOf(*active).factors)
        if (read != factor) visit(read);
  };
  const auto place = [&](size_t factor) {
    position_[factor] = static_cast<unsigned>(order_.size());
    order_.push_back(static_cast<unsigned>(factor));
  };
  check::inOrder(width(), needs, place, [](size_t) {});
  activity_.resize(width());
  when_.resize(study().workload->parameters.size());
}

std::vector<const check::Value*> Space::varied(unsigned parameter) const {
  std::vector<const check::Value*> values;
  if (study().factor_of[parameter] < 0) return values;
  const check::Factor& factor = study().factors[study().factor_of[parameter]];
  const auto slot = std::ranges::find(factor.parameters, parameter) - factor.parameters.begin();
  for (const check::Level& level : factor.levels) values.push_back(&level.values[slot]);
  return values;
}

Space::Reads Space::readsOf(const check::Formula& formula) const {
  std::set<unsigned> parameters, looked, factors;
  auto visit = [&](auto& self, const check::Formula& read, bool settled) -> void {
    for (unsigned parameter : check::parametersOf(read)) {
      const check::Formula* when = study().workload->parameters[parameter].when.get();
      bool fresh = looked.insert(parameter).second;
      bool missing = settled && parameters.insert(parameter).second;
      if (!fresh && !missing) continue;
      if (when) self(self, *when, settled);
      if (differs_[parameter]) factors.insert(0);
      int factor = study().factor_of[parameter];
      if (factor < 0 || !factors.insert(static_cast<unsigned>(factor)).second) continue;
      if (const check::Formula* active = study().factors[factor].active.get()) self(self, *active, false);
    }
  };
  visit(visit, formula, true);
  Reads reads;
  reads.parameters.assign(parameters.begin(), parameters.end());
  reads.factors.assign(factors.begin(), factors.end());
  if (position_.size() == width())
    std::sort(reads.factors.begin(), reads.factors.end(),
              [&](unsigned a, unsigned b) { return position_[a] < position_[b]; });
  return reads;
}

std::unique_ptr<Space> Space::compile(const select::Selected& selected, diag::Emitter& emitter) {
  std::unique_ptr<Space> space(new Space(selected));
  const check::Study& study = *selected.study;
  bool good = true;
  const auto compiled = [&](const check::FormulaPtr& formula, View view) {
    auto condition = formula ? std::make_unique<Condition>(*space, formula, view) : nullptr;
    if (condition) good &= condition->requireValues(emitter);
    return condition;
  };
  for (unsigned factor : space->order_) space->activity_[factor] = compiled(study.factors[factor].active, View::Study);
  if (!good) return nullptr;
  for (unsigned i = 0; i < space->when_.size(); ++i)
    space->when_[i] = compiled(study.workload->parameters[i].when, View::Workload);
  if (!good || !space->rulesAreFew(emitter)) return nullptr;
  for (unsigned i = 0; i < study.rules.size(); ++i) {
    const check::Rule& rule = study.rules[i];
    if (rule.usesSystem()) continue;
    space->rules_.push_back({i, compiled(rule.condition, rule.of_workload ? View::Workload : View::Study),
                             rule.kind == ast::RuleKind::Require});
  }
  return good ? std::move(space) : nullptr;
}

bool Space::rulesAreFew(diag::Emitter& emitter) const {
  uint64_t work = 0;
  for (const check::Rule& rule : study().rules) {
    if (rule.usesSystem() || (work += combinations(*rule.condition)) <= kMaxRuleWork) continue;
    return emitter
        .build(rule.range, check::errors::NotSupported, "a study whose rules look at so many combinations of levels")
        .note({}, "all together may look at {}; let rules name fewer factors, or the factors have fewer levels",
              kMaxRuleWork)
        .refuse();
  }
  return true;
}

uint64_t Space::combinations(const check::Formula& formula) const {
  uint64_t count = 1;
  for (unsigned factor : readsOf(formula).factors)
    count = std::min<uint64_t>(kMaxTable, count * (study().factors[factor].levels.size() + 1));
  return count;
}

bool Space::contains(Levels levels) const {
  for (unsigned factor : order_) {
    unsigned level = levels[factor];
    if (level == kOpen || active(factor, levels) != (level != kAbsent)) return false;
    if (level != kAbsent && !kept_[factor][level]) return false;
  }
  return std::all_of(rules_.begin(), rules_.end(), [&](const Rule& rule) { return rule.holds(levels); });
}

std::optional<Obstacle> Space::whyNot(Levels levels) const {
  for (unsigned factor : order_) {
    bool on = active(factor, levels);
    if (on && levels[factor] >= kOpen) return Obstacle{Obstacle::Kind::Unchosen, factor, 0};
    if (!on && levels[factor] != kAbsent) return Obstacle{Obstacle::Kind::Inactive, factor, 0};
  }
  for (const Rule& rule : rules_)
    if (!rule.holds(levels)) return Obstacle{Obstacle::Kind::Rule, 0, rule.index};
  for (unsigned factor : order_)
    if (levels[factor] != kAbsent && !kept_[factor][levels[factor]])
      return Obstacle{Obstacle::Kind::LeftOut, factor, 0};
  return std::nullopt;
}

Space::End Space::forEach(llvm::function_ref<bool(Levels)> visit) const { return Walker(*this, {}).run(visit); }

void Space::reportFailure(diag::Emitter& emitter) const {
  if (failed_) failed_->report(failed_at_, emitter);
}

}  // namespace expc::expand
