#include "compiler/expand/condition.h"

#include "compiler/expand/space.h"

namespace expc::expand {

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
  tabulate();
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

void Condition::tabulate() {
  std::vector<unsigned> levels(space_.width(), kOpen);
  combinations(0, true, levels, [&](const std::vector<unsigned>& at, bool kept) {
    uint64_t index = 0;
    for (size_t i = 0; i < factors_.size(); ++i) {
      unsigned level = at[factors_[i]];
      index += stride_[i] * (level == kAbsent ? absent_[i] : level);
    }
    uint64_t bit = uint64_t{1} << (index & 63);
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

std::optional<bool> Condition::constant() const {
  if (!tabulated_ || !first_none_.empty() || (kept_yes_ > 0 && kept_no_ > 0)) return std::nullopt;
  return kept_yes_ > 0;
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
