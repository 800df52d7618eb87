#include "compiler/expand/condition.h"

#include "compiler/expand/space.h"

namespace expc::expand {

Assignment::Assignment(const select::Selected& selected, const check::System* system, const check::Lookup* lookup)
    : selected_(selected), system_(system), lookup_(lookup), levels_(selected.study->factors.size(), kOpen) {
  size_t count = selected.study->workload->parameters.size();
  study_.resize(count);
  workload_.resize(count);
  slot_.resize(count);
  for (const check::Factor& factor : selected.study->factors)
    for (unsigned i = 0; i < factor.parameters.size(); ++i) slot_[factor.parameters[i]] = i;
}

unsigned Assignment::use() const { return selected_.study->hasWorkloadFactor() && levels_[0] < kOpen ? levels_[0] : 0; }

std::optional<check::Failure> Assignment::settleOne(unsigned index) {
  const check::Study& study = *selected_.study;
  const auto& given = selected_.arguments[use()][index];
  const check::Value* value = given ? &*given : nullptr;
  bool absent = false;
  if (int factor = study.factor_of[index]; factor >= 0) {
    unsigned level = levels_[factor];
    absent = level == kAbsent;
    if (level < kOpen) value = &study.factors[factor].levels[level].values[slot_[index]];
  }
  if (const check::Formula* when = study.workload->parameters[index].when.get()) {
    check::Outcome outcome = evaluate(*when, View::Workload);
    if (const check::Failure* failure = std::get_if<check::Failure>(&outcome)) return *failure;
    if (!std::get<check::Value>(outcome).asBool()) value = nullptr;
  }
  workload_[index] = value;
  study_[index] = absent ? nullptr : value;
  return std::nullopt;
}

std::optional<check::Failure> Assignment::settle(std::span<const unsigned> parameters) {
  for (unsigned index : parameters)
    if (auto failure = settleOne(index)) return failure;
  return std::nullopt;
}

std::optional<check::Failure> Assignment::settle() {
  for (unsigned index = 0; index < workload_.size(); ++index)
    if (auto failure = settleOne(index)) return failure;
  return std::nullopt;
}

check::Outcome Assignment::evaluate(const check::Formula& formula, View view) const {
  const auto& values = view == View::Study ? study_ : workload_;
  return check::evaluate(formula, {values.data(), values.size(), system_ ? &system_->values : nullptr, lookup_});
}

std::optional<uint64_t> keyOf(const check::Study& study, std::span<const unsigned> factors, Levels levels) {
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
static void reportAt(const check::Failure& failure, const select::Selected& selected, const Assignment& at,
                     diag::Emitter& emitter) {
  std::string label = at.label();
  bool inactive = failure.kind == check::Failure::Kind::Inactive;
  check::reportFailure(failure, inactive ? selected.study->workload->parameters[failure.parameter].name : "",
                       label.empty() ? "" : "at " + label, emitter);
}

template <typename Visit>
void Condition::combinations(size_t depth, bool kept, std::vector<unsigned>& levels, const Visit& visit) const {
  if (depth == factors_.size()) return visit(levels, kept);
  unsigned factor = factors_[depth];
  if (!space_.active(factor, levels)) {
    levels[factor] = kAbsent;
    combinations(depth + 1, kept, levels, visit);
  } else {
    for (unsigned level = 0; level < space_.study().factors[factor].levels.size(); ++level) {
      levels[factor] = level;
      combinations(depth + 1, kept && space_.kept(factor, level), levels, visit);
    }
  }
  levels[factor] = kOpen;
}

Condition::Condition(const Space& space, check::FormulaPtr formula, View view, const check::System* system)
    : space_(space), formula_(std::move(formula)), view_(view), at_(space.selected(), system) {
  Space::Reads reads = space.readsOf(*formula_);
  parameters_ = std::move(reads.parameters);
  factors_ = std::move(reads.factors);
  uint64_t size = 1;
  bool fits = true;
  for (unsigned factor : factors_) {
    const check::Factor& declared = space.study().factors[factor];
    unsigned digits = static_cast<unsigned>(declared.levels.size()) + (declared.active ? 1 : 0);
    stride_.push_back(size);
    absent_.push_back(static_cast<unsigned>(declared.levels.size()));
    fits = fits && !__builtin_mul_overflow(size, uint64_t{digits}, &size) && size <= kMaxTable;
    if (!fits) size = 1;
  }
  if (!fits) return;
  yes_.resize(size / 64 + 1);
  std::vector<unsigned> levels(space_.width(), kOpen);
  combinations(0, true, levels, [&](const std::vector<unsigned>& at, bool kept) {
    const uint64_t index = indexOf(at), bit = uint64_t{1} << (index & 63);
    const Answer answer = evaluate(at);
    if (answer == Answer::Yes) yes_[index >> 6] |= bit;
    kept_yes_ += kept && answer == Answer::Yes;
    kept_no_ += kept && answer == Answer::No;
    if (answer != Answer::None) return;
    none_.resize(yes_.size());
    none_[index >> 6] |= bit;
    if (kept && first_none_.empty()) first_none_ = at.empty() ? std::vector<unsigned>{kOpen} : at;
  });
  tabulated_ = true;
}

Condition::Answer Condition::evaluate(Levels levels) const {
  at_.set(levels);
  if (at_.settle(parameters_)) return Answer::None;
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
  // Only what the formula depends on is named.
  std::vector<unsigned> named(levels.size(), kOpen);
  for (unsigned factor : factors_) named[factor] = levels[factor];
  at_.set(named);
  if (auto failure = at_.settle(parameters_)) return reportAt(*failure, space_.selected(), at_, emitter);
  check::Outcome outcome = at_.evaluate(*formula_, view_);
  if (auto* failure = std::get_if<check::Failure>(&outcome)) reportAt(*failure, space_.selected(), at_, emitter);
}

}  // namespace expc::expand
