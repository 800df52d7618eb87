#include "compiler/survey/question.h"

#include <algorithm>
#include <limits>

#include "runtime/stats/design.h"

namespace expc::lower {

Question::Question(const expand::Space& space, const check::Criterion& criterion) : criterion_(criterion) {
  for (const check::Quantifier& quantifier : criterion.quantifiers)
    if (quantifier.where)
      where_.push_back(std::make_unique<expand::Condition>(space, quantifier.where, expand::View::Study));
}

Question::Answer Question::asks(expand::Levels point, const std::vector<Pairs::Answer>& values) const {
  for (const check::Pin& pin : criterion_.pins)
    if (point[pin.factor] != pin.level) return Answer::No;
  for (const auto& where : where_) {
    expand::Condition::Answer answer = where->at(point);
    if (answer == expand::Condition::Answer::None) return Answer::Failed;
    if (answer == expand::Condition::Answer::No) return Answer::No;
  }
  return !comparison() || values[*comparison()].found == Pairs::Found::One ? Answer::Yes : Answer::No;
}

void Question::reportFailure(expand::Levels point, diag::Emitter& emitter) const {
  for (const auto& where : where_)
    if (where->at(point) == expand::Condition::Answer::None) return where->report(point, emitter);
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

unsigned Shape::needed(const Node& node, size_t depth, double confidence, bool median, ast::QuantifierKind certain,
                       uint64_t cells) const {
  auto least = [&](uint64_t count) {
    auto bounded = static_cast<unsigned>(std::min<uint64_t>(count, std::numeric_limits<unsigned>::max()));
    return median ? stats::minimumForMedian(confidence, bounded) : stats::minimumPairs(confidence, bounded);
  };
  if (depth >= criterion_->quantifiers.size()) return least(cells);
  bool all = criterion_->quantifiers[depth].kind == certain;
  if (depth + 1 == criterion_->quantifiers.size()) return least(all ? cells : cells * node.cells);
  uint64_t inside = all ? cells : cells * node.groups.size();
  unsigned result = 0;
  for (const auto& [key, child] : node.groups) {
    unsigned n = needed(child, depth + 1, confidence, median, certain, inside);
    result = result == 0 ? n : all ? std::max(result, n) : std::min(result, n);
  }
  return result;
}

unsigned Shape::repetitionsToPass(double confidence, bool median) const {
  return needed(root_, 0, confidence, median, ast::QuantifierKind::ForAll, 1);
}

unsigned Shape::repetitionsToFail(double confidence, bool median) const {
  return needed(root_, 0, confidence, median, ast::QuantifierKind::Exists, 1);
}

}  // namespace expc::lower
