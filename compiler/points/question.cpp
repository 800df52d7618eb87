#include "compiler/points/question.h"

#include <algorithm>
#include <limits>

#include "runtime/stats/design.h"

namespace expc::points {

Question::Question(const expand::Space& space, const check::Criterion& criterion, Machine& machine)
    : criterion_(criterion), machine_(machine), pairs_(space) {
  const check::Study& study = space.study();
  if (criterion.comparison && !criterion.infeasible) comparison_ = &study.comparisons[*criterion.comparison];
  if (criterion.like) published_ = std::make_unique<PublishedValues>(space, study.references[*criterion.like]);
  for (const check::Quantifier& quantifier : criterion.quantifiers)
    where_.push_back(
        quantifier.where ? std::make_unique<expand::Condition>(space, quantifier.where, expand::View::Study) : nullptr);
}

/// By its levels and conditions alone: No, Failed, Dropped or Cell.
Question::Answer Question::selects(expand::Levels point) const {
  for (const check::Pin& pin : criterion_.pins)
    if (point[pin.factor] != pin.level) return Answer::No;
  Answer selected = Answer::Cell;
  for (size_t i = 0; i < where_.size(); ++i) {
    expand::Condition::Answer answer = where_[i] ? where_[i]->at(point) : expand::Condition::Answer::Yes;
    if (answer == expand::Condition::Answer::None) return Answer::Failed;
    if (answer == expand::Condition::Answer::Yes) continue;
    if (criterion_.quantifiers[i].kind == ast::QuantifierKind::ForAll) return Answer::No;
    selected = Answer::Dropped;
  }
  return selected;
}

Question::Answer Question::at(expand::Levels point, const Pairs::Answer& value) {
  const Answer selected = selects(point);
  if (selected == Answer::Failed) return selected;
  if (comparison_ && value.found != Pairs::Found::One) return Answer::No;
  if (selected != Answer::Cell) return selected;
  if (published_ && !(value_ = published_->of(criterion_, pairs_, point))) return Answer::Unpublished;
  if (criterion_.feasible && !machine_.infeasible(comparison_, point).why.empty()) return Answer::Unfit;
  return machine_.runs(comparison_, point) ? Answer::Cell : Answer::Unavailable;
}

void Question::reportFailure(expand::Levels point, diag::Emitter& emitter) const {
  for (const auto& where : where_)
    if (where && where->at(point) == expand::Condition::Answer::None) return where->report(point, emitter);
}

void Shape::add(expand::Levels point) {
  Node* node = &root_;
  ++node->cells;
  for (size_t depth = 0; depth + 1 < criterion_->quantifiers.size(); ++depth) {
    std::vector<unsigned> key;
    for (unsigned factor : criterion_->quantifiers[depth].factors) key.push_back(point[factor]);
    node = &node->groups[std::move(key)];
    ++node->cells;
  }
}

int Shape::absentAmongOthers() const { return absentAmongOthers(root_, 0); }

int Shape::absentAmongOthers(const Node& node, size_t depth) const {
  if (depth + 1 >= criterion_->quantifiers.size()) return -1;
  const check::Quantifier& quantifier = criterion_->quantifiers[depth];
  for (size_t i = 0; i < quantifier.factors.size() && quantifier.kind == ast::QuantifierKind::Exists; ++i) {
    const auto absent = [&](const auto& group) { return group.first[i] == expand::kAbsent; };
    const auto count = std::count_if(node.groups.begin(), node.groups.end(), absent);
    if (count > 0 && static_cast<size_t>(count) < node.groups.size()) return static_cast<int>(quantifier.factors[i]);
  }
  for (const auto& [key, child] : node.groups)
    if (int factor = absentAmongOthers(child, depth + 1); factor >= 0) return factor;
  return -1;
}

unsigned Shape::needed(const Node& node, size_t depth, double confidence, ast::QuantifierKind certain,
                       uint64_t cells) const {
  auto least = [&](uint64_t count) {
    auto bounded = static_cast<unsigned>(std::min<uint64_t>(count, std::numeric_limits<unsigned>::max()));
    return stats::minimumPairs(confidence, bounded);
  };
  if (depth >= criterion_->quantifiers.size()) return least(cells);
  bool all = criterion_->quantifiers[depth].kind == certain;
  if (depth + 1 == criterion_->quantifiers.size()) return least(all ? cells : cells * node.cells);
  uint64_t inside = all ? cells : cells * node.groups.size();
  unsigned result = 0;
  for (const auto& [key, child] : node.groups) {
    unsigned n = needed(child, depth + 1, confidence, certain, inside);
    result = result == 0 ? n : all ? std::max(result, n) : std::min(result, n);
  }
  return result;
}

unsigned Shape::repetitionsToPass(double confidence) const {
  return needed(root_, 0, confidence, ast::QuantifierKind::ForAll, 1);
}

unsigned Shape::repetitionsToFail(double confidence) const {
  return needed(root_, 0, confidence, ast::QuantifierKind::Exists, 1);
}

}  // namespace expc::points
