// Assignment, Condition and Space. A parameter's value at a point comes from the workload's use (argument or
// default), is replaced by the level of a factor that varies it, and vanishes where the parameter's `when` does
// not hold. Activity makes conditions depend on more factors than they name: `readsOf` follows `when`s and
// activities to find all of them.

#include "compiler/expand/space.h"

#include <algorithm>
#include <set>

#include "compiler/check/expression.h"
#include "runtime/base/text.h"

namespace expc::expand {
namespace {

/// Whether all workloads of the study give a parameter the same argument.
bool equalArguments(const Selected& selected, unsigned parameter) {
  const auto& first = selected.arguments[0][parameter];
  return std::ranges::all_of(selected.arguments, [&](const auto& use) { return use[parameter] == first; });
}

}  // namespace

Assignment::Assignment(const Selected& selected, const check::System* system, const check::Lookup* lookup)
    : selected_(selected), system_(system), lookup_(lookup), levels_(selected.study->factors.size(), kOpen) {
  size_t count = selected.study->workload->parameters.size();
  study_.resize(count);
  workload_.resize(count);
  slot_.resize(count);
  for (const check::Factor& factor : selected.study->factors)
    for (unsigned i = 0; i < factor.parameters.size(); ++i) slot_[factor.parameters[i]] = i;
}

unsigned Assignment::use() const { return selected_.study->hasWorkloadFactor() && levels_[0] < kOpen ? levels_[0] : 0; }

std::optional<check::Failure> Assignment::resolveOne(unsigned index) {
  const check::Study& study = *selected_.study;
  // First the use's argument, then the level of the factor; an absent factor leaves the argument to the
  // workload and nothing to the study.
  const auto& given = selected_.arguments[use()][index];
  const check::Value* value = given ? &*given : nullptr;
  bool absent = false;
  if (int factor = study.factor_of[index]; factor >= 0) {
    unsigned level = levels_[factor];
    absent = level == kAbsent;
    if (level < kOpen) value = &study.factors[factor].levels[level].values[slot_[index]];
  }
  // The `when` reads only earlier parameters, so these are resolved already.
  if (const check::Formula* when = study.parameter(index).when.get()) {
    check::Outcome outcome = evaluate(*when, View::Workload);
    if (const check::Failure* failure = std::get_if<check::Failure>(&outcome)) return *failure;
    if (!std::get<check::Value>(outcome).asBool()) value = nullptr;
  }
  workload_[index] = value;
  study_[index] = absent ? nullptr : value;
  return std::nullopt;
}

std::optional<check::Failure> Assignment::resolve(std::span<const unsigned> parameters) {
  for (unsigned index : parameters)
    if (auto failure = resolveOne(index)) return failure;
  return std::nullopt;
}

std::optional<check::Failure> Assignment::resolve() {
  for (unsigned index = 0; index < workload_.size(); ++index)
    if (auto failure = resolveOne(index)) return failure;
  return std::nullopt;
}

check::Outcome Assignment::evaluate(const check::Formula& formula, View view) const {
  const auto& values = view == View::Study ? study_ : workload_;
  return check::evaluate(formula, {values.data(), values.size(), system_ ? &system_->values : nullptr, lookup_});
}

std::optional<uint64_t> keyOf(const check::Study& study, std::span<const unsigned> factors, Levels levels) {
  // One digit for each level and one for kAbsent.
  uint64_t key = 0;
  for (unsigned factor : factors) {
    const uint64_t radix = study.factors[factor].levels.size() + 1;
    const uint64_t digit = levels[factor] == kAbsent ? radix - 1 : levels[factor];
    if (__builtin_mul_overflow(key, radix, &key) || __builtin_add_overflow(key, digit, &key)) return std::nullopt;
  }
  return key;
}

std::string labelOf(const check::Study& study, Levels levels) {
  std::string text;
  for (size_t factor = 0; factor < levels.size(); ++factor) {
    if (levels[factor] >= kOpen) continue;
    const check::Factor& declared = study.factors[factor];
    if (!text.empty()) text += ' ';
    text += declared.name + "=" + declared.levels[levels[factor]].label;
  }
  return text;
}

/// Reports why a formula has no value at a point.
static void reportAt(const check::Failure& failure, const Selected& selected, const Assignment& at,
                     diag::Emitter& emitter) {
  // At no point in particular the label is empty, as for a condition over arguments.
  bool inactive = failure.kind == check::Failure::Kind::Inactive;
  check::reportFailure(failure, inactive ? selected.study->parameter(failure.parameter).name : "",
                       base::framed("at ", at.label()), emitter);
}

template <typename Visit>
void Condition::combinations(size_t depth, bool kept, std::vector<unsigned>& levels, const Visit& visit) const {
  if (depth == factors_.size()) return visit(levels, kept);
  unsigned factor = factors_[depth];
  // An inactive factor contributes one combination, not one per level.
  if (!space_.active(factor, levels)) {
    levels[factor] = kAbsent;
    combinations(depth + 1, kept, levels, visit);
  } else {
    for (unsigned level = 0; level < space_.study().factors[factor].levels.size(); ++level) {
      levels[factor] = level;
      combinations(depth + 1, kept && space_.kept(factor, level), levels, visit);
    }
  }
  // Restore for the caller's next level.
  levels[factor] = kOpen;
}

Condition::Condition(const Space& space, check::FormulaPtr formula, View view, const check::System* system)
    : space_(space), formula_(std::move(formula)), view_(view), at_(space.selected(), system) {
  Space::Reads reads = space.readsOf(*formula_);
  parameters_ = std::move(reads.parameters);
  factors_ = std::move(reads.factors);
  // The table is indexed by mixed radix; a factor that can be inactive has one more digit.
  uint64_t size = 1;
  bool fits = true;
  for (unsigned factor : factors_) {
    const check::Factor& declared = space.study().factors[factor];
    unsigned digits = unsigned(declared.levels.size()) + (declared.active ? 1 : 0);
    stride_.push_back(size);
    absent_.push_back(unsigned(declared.levels.size()));
    fits = fits && !__builtin_mul_overflow(size, uint64_t{digits}, &size) && size <= kMaxTable;
    if (!fits) size = 1;
  }
  if (!fits) return;
  yes_.resize(size / 64 + 1);
  std::vector<unsigned> levels(space_.width(), kOpen);
  // All combinations are evaluated, also those that the selection leaves out: the same table then answers for a
  // point of the whole study, for instance a baseline that was not kept.
  combinations(0, true, levels, [&](const std::vector<unsigned>& at, bool kept) {
    const uint64_t index = indexOf(at), bit = uint64_t{1} << (index & 63);
    const Answer answer = evaluate(at);
    if (answer == Answer::Yes) yes_[index >> 6] |= bit;
    kept_yes_ += kept && answer == Answer::Yes;
    kept_no_ += kept && answer == Answer::No;
    if (answer != Answer::None) return;
    none_.resize(yes_.size());
    none_[index >> 6] |= bit;
    // A condition without factors fails at no levels at all; one kOpen marks that.
    if (kept && first_none_.empty()) first_none_ = at.empty() ? std::vector<unsigned>{kOpen} : at;
  });
  tabulated_ = true;
}

Condition::Answer Condition::evaluate(Levels levels) const {
  at_.set(levels);
  if (at_.resolve(parameters_)) return Answer::None;
  check::Outcome outcome = at_.evaluate(*formula_, view_);
  const check::Value* value = std::get_if<check::Value>(&outcome);
  return !value ? Answer::None : value->asBool() ? Answer::Yes : Answer::No;
}

std::optional<bool> Condition::ever(Answer answer) const {
  if (!tabulated_) return std::nullopt;
  return answer == Answer::Yes ? kept_yes_ > 0 : answer == Answer::No ? kept_no_ > 0 : !first_none_.empty();
}

bool Condition::requireValues(diag::Emitter& emitter) const {
  if (first_none_.empty()) return true;
  report(space_.width() == 0 ? Levels{} : Levels(first_none_), emitter);
  return false;
}

void Condition::report(Levels levels, diag::Emitter& emitter) const {
  // Name only the factors on which the formula depends.
  std::vector<unsigned> named(levels.size(), kOpen);
  for (unsigned factor : factors_) named[factor] = levels[factor];
  at_.set(named);
  if (auto failure = at_.resolve(parameters_)) return reportAt(*failure, space_.selected(), at_, emitter);
  check::Outcome outcome = at_.evaluate(*formula_, view_);
  if (auto* failure = std::get_if<check::Failure>(&outcome)) reportAt(*failure, space_.selected(), at_, emitter);
}

Space::Space(const Selected& selected) : selected_(selected) {
  for (unsigned factor = 0; factor < width(); ++factor) {
    kept_.emplace_back(study().factors[factor].levels.size(), false);
    for (unsigned level : selected.levels[factor]) kept_[factor][level] = true;
  }
  for (unsigned i = 0; i < study().workload->parameters.size(); ++i) differs_.push_back(!equalArguments(selected, i));
  // Walking order: a factor after those that its activity reads. Check has refused cycles, so none is handled
  // here.
  position_.assign(width(), 0);
  const auto needs = [&](size_t factor, auto visit) {
    if (const check::Formula* active = study().factors[factor].active.get())
      for (unsigned read : readsOf(*active).factors)
        if (read != factor) visit(read);
  };
  const auto place = [&](size_t factor) {
    position_[factor] = unsigned(order_.size());
    order_.push_back(unsigned(factor));
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
  // A formula needs its parameters resolved, and for that the parameters in their `when`s. Activity of a factor
  // only decides which levels it has: those conditions are compiled already, so their factors must be chosen,
  // but their parameters need not be resolved here (`resolved` is false).
  std::set<unsigned> parameters, looked, factors;
  auto visit = [&](auto& self, const check::Formula& read, bool resolved) -> void {
    for (unsigned parameter : check::parametersOf(read)) {
      const check::Formula* when = study().parameter(parameter).when.get();
      // Visit each parameter at most twice: once for its factors, and again if it must be settled too.
      bool fresh = looked.insert(parameter).second;
      bool missing = resolved && parameters.insert(parameter).second;
      if (!fresh && !missing) continue;
      if (when) self(self, *when, resolved);
      // Factor 0 selects the workload.
      if (differs_[parameter]) factors.insert(0);
      int factor = study().factor_of[parameter];
      if (factor < 0 || !factors.insert(unsigned(factor)).second) continue;
      if (const check::Formula* active = study().factors[factor].active.get()) self(self, *active, false);
    }
  };
  visit(visit, formula, true);
  Reads reads;
  reads.parameters.assign(parameters.begin(), parameters.end());
  reads.factors.assign(factors.begin(), factors.end());
  // While the constructor finds the order, positions are incomplete; it does not need the factors sorted.
  if (position_.size() == width())
    std::ranges::sort(reads.factors, [&](unsigned a, unsigned b) { return position_[a] < position_[b]; });
  return reads;
}

std::unique_ptr<Space> Space::compile(const Selected& selected, diag::Emitter& emitter) {
  std::unique_ptr<Space> space(new Space(selected));
  const check::Study& study = *selected.study;
  bool good = true;
  // Compiles one condition and requires that it has a value at every kept combination.
  const auto compiled = [&](const check::FormulaPtr& formula, View view) {
    auto condition = formula ? std::make_unique<Condition>(*space, formula, view) : nullptr;
    if (condition) good &= condition->requireValues(emitter);
    return condition;
  };
  // In this order, since each kind of condition asks those before it: activities in walking order, `when`s,
  // rules.
  for (unsigned factor : space->order_) space->activity_[factor] = compiled(study.factors[factor].active, View::Study);
  if (!good) return nullptr;
  for (unsigned i = 0; i < space->when_.size(); ++i)
    space->when_[i] = compiled(study.parameter(i).when, View::Workload);
  for (const check::Use& use : study.uses)
    for (const check::Computed& computed : use.computed) compiled(computed.defined, View::Workload);
  if (!good || !space->rulesAreFew(emitter)) return nullptr;
  for (unsigned i = 0; i < study.rules.size(); ++i) {
    const check::Rule& rule = study.rules[i];
    if (rule.usesSystem()) continue;
    space->rules_.push_back({i, compiled(rule.condition, rule.of_workload ? View::Workload : View::Study),
                             rule.kind == ast::RuleKind::Require});
  }
  for (const check::Comparison& comparison : study.comparisons)
    space->where_.push_back(compiled(comparison.where, View::Study));
  return good ? std::move(space) : nullptr;
}

bool Space::rulesAreFew(diag::Emitter& emitter) const {
  uint64_t work = 0;
  for (const check::Rule& rule : study().rules) {
    if (rule.usesSystem()) continue;
    uint64_t count = 1;
    for (unsigned factor : readsOf(*rule.condition).factors)
      // Larger tables are not built, so a condition counts for at most kMaxTable.
      count = std::min<uint64_t>(kMaxTable, count * (study().factors[factor].levels.size() + 1));
    if ((work += count) <= kMaxRuleWork) continue;
    return emitter.emit(rule.range, check::NotSupported, "a study whose rules look at so many combinations of levels")
        .note("all together may look at {}; use fewer factors in rules, or fewer levels", kMaxRuleWork);
  }
  return true;
}

bool Space::contains(Levels levels) const {
  for (unsigned factor : order_) {
    // Check activity before the level: a level of an inactive factor means nothing.
    unsigned level = levels[factor];
    if (level == kOpen || active(factor, levels) != (level != kAbsent)) return false;
    if (level != kAbsent && !kept_[factor][level]) return false;
  }
  return std::ranges::all_of(rules_, [&](const Rule& rule) { return rule.holds(levels); });
}

std::optional<Obstacle> Space::whyNot(Levels levels) const {
  // Activity first: a rule may only be asked when the levels make sense.
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

Space::End Space::forEach(function_ref<bool(Levels)> visit) const { return walk(*this, {}, visit).end; }

void Space::reportFailure(diag::Emitter& emitter) const {
  if (failed_) failed_->report(failed_at_, emitter);
}

}  // namespace expc::expand
