#include "compiler/expand/assignment.h"

#include <set>

namespace expc::expand {

Assignment::Assignment(const check::Selected& selected)
    : selected_(selected), levels_(selected.study->factors.size(), kOpen) {
  for (const auto& argument : selected.arguments) given_.push_back(argument ? &*argument : nullptr);
  values_ = given_;
}

void Assignment::set(unsigned factor, unsigned level) {
  const check::Factor& declared = selected_.study->factors[factor];
  levels_[factor] = level;
  given_[declared.parameter] = level == kOpen ? nullptr : &declared.levels[level].value;
  values_[declared.parameter] = given_[declared.parameter];
}

void Assignment::set(std::span<const unsigned> levels) {
  for (unsigned factor = 0; factor < levels.size(); ++factor) set(factor, levels[factor]);
}

bool Assignment::settle(const std::vector<unsigned>* wanted, diag::Emitter& emitter) {
  const auto& parameters = selected_.study->workload->parameters;
  size_t count = wanted ? wanted->size() : parameters.size();
  for (size_t i = 0; i < count; ++i) {
    unsigned index = wanted ? (*wanted)[i] : static_cast<unsigned>(i);
    values_[index] = given_[index];
    if (!parameters[index].when) continue;
    check::Outcome outcome = check::evaluate(*parameters[index].when, environment());
    if (const check::Failure* failure = std::get_if<check::Failure>(&outcome)) {
      reportAt(*failure, selected_, *this, emitter);
      return false;
    }
    if (!std::get<check::Value>(outcome).asBool()) values_[index] = nullptr;
  }
  return true;
}

std::string Assignment::label() const {
  std::string text;
  for (size_t factor = 0; factor < levels_.size(); ++factor) {
    if (levels_[factor] == kOpen) continue;
    const check::Factor& declared = selected_.study->factors[factor];
    if (!text.empty()) text += ' ';
    text += declared.name + "=" + declared.levels[levels_[factor]].label;
  }
  return text;
}

std::vector<unsigned> closure(const check::Workload& workload, const std::vector<unsigned>& parameters) {
  std::set<unsigned> found;
  std::vector<unsigned> open = parameters;
  while (!open.empty()) {
    unsigned index = open.back();
    open.pop_back();
    if (!found.insert(index).second || !workload.parameters[index].when) continue;
    for (unsigned read : check::parametersOf(*workload.parameters[index].when)) open.push_back(read);
  }
  return {found.begin(), found.end()};
}

void reportAt(const check::Failure& failure, const check::Selected& selected, const Assignment& at,
              diag::Emitter& emitter) {
  std::string label = at.label();
  check::reportFailure(failure, selected.study->workload->parameters[failure.parameter].name,
                       label.empty() ? "" : "at " + label, emitter);
}

}  // namespace expc::expand
