#include "compiler/expand/assignment.h"

#include <fmt/format.h>

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

void reportAt(const check::Failure& failure, const select::Selected& selected, const Assignment& at,
              diag::Emitter& emitter) {
  std::string label = at.label();
  bool inactive = failure.kind == check::Failure::Kind::Inactive;
  check::reportFailure(failure, inactive ? selected.study->workload->parameters[failure.parameter].name : "",
                       label.empty() ? "" : "at " + label, emitter);
}

}  // namespace expc::expand
