#include "compiler/expand/walk.h"

#include <algorithm>
#include <set>

namespace expc::expand {
namespace {

constexpr uint64_t kMaxConflictSteps = 200'000;
constexpr uint64_t kMaxCountSteps = 50'000'000;
constexpr size_t kMaxKnown = 1 << 16;
constexpr size_t kExamples = 3;
constexpr uint64_t kSlowRule = 40;  // steps that a rule without a table takes as long as

uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? Counter::kUncounted : result;
}
uint64_t add(uint64_t a, uint64_t b) { return a + b < a ? Counter::kUncounted : a + b; }

}  // namespace

Counter::Counter(const Space& space, const std::vector<std::vector<unsigned>>& kept) : space_(space), kept_(kept) {
  const auto& order = space.order();
  size_t width = order.size();
  plain_.assign(width + 1, 1);
  conditional_.assign(width + 1, false);
  controls_.assign(width, false);
  relevant_.resize(width + 1);
  known_.resize(width + 1);
  std::set<unsigned> read;
  for (size_t depth = width; depth-- > 0;) {
    unsigned factor = order[depth];
    controls_[depth] = read.contains(factor);
    plain_[depth] = multiply(plain_[depth + 1], kept[factor].size());
    conditional_[depth] = conditional_[depth + 1] || space.activity(factor);
    if (const Condition* activity = space.activity(factor))
      read.insert(activity->factors().begin(), activity->factors().end());
    for (size_t before = 0; before < depth; ++before)
      if (read.contains(order[before])) relevant_[depth].push_back(order[before]);
  }
}

uint64_t Counter::rest(size_t depth, std::vector<unsigned>& levels) {
  if (!conditional_[depth]) return plain_[depth];
  const auto key = keyOf(space_.study(), relevant_[depth], levels);
  if (!key) return count(depth, levels);
  auto& known = known_[depth];
  if (auto found = known.find(*key); found != known.end()) return found->second;
  uint64_t result = count(depth, levels);
  if (known.size() == kMaxKnown) known.clear();
  known.emplace(*key, result);
  return result;
}

uint64_t Counter::count(size_t depth, std::vector<unsigned>& levels) {
  if (++steps_ > kMaxCountSteps) return kUncounted;
  unsigned factor = space_.order()[depth];
  unsigned before = levels[factor];
  uint64_t sum = 0;
  if (!space_.active(factor, levels)) {
    levels[factor] = kAbsent;
    sum = rest(depth + 1, levels);
  } else if (!controls_[depth]) {
    sum = kept_[factor].empty() ? 0 : multiply(kept_[factor].size(), rest(depth + 1, levels));
  } else {
    for (unsigned level : kept_[factor]) {
      levels[factor] = level;
      sum = add(sum, rest(depth + 1, levels));
    }
  }
  levels[factor] = before;
  return sum;
}

Walker::Walker(const Space& space, Options options)
    : space_(space),
      options_(options),
      kept_(options.levels ? *options.levels : space.selected().levels),
      levels_(space.width(), kOpen),
      rules_at_(space.width() + 1),
      involved_(space.width()),
      removed_(space.study().rules.size()),
      counter_(space, kept_) {
  auto involve = [&](const Condition& condition) {
    size_t depth = 0;
    for (unsigned factor : condition.factors()) {
      involved_[factor] = true;
      depth = std::max<size_t>(depth, space.position_[factor] + 1);
    }
    return depth;
  };
  for (const Space::Rule& rule : space.rules())
    if (!options.rules || (*options.rules)[rule.index]) rules_at_[involve(*rule.condition)].push_back(&rule);
  for (unsigned factor = 0; factor < space.width(); ++factor)
    if (const Condition* activity = space.activity(factor)) involve(*activity);
  if (!options.only_first) product_ = counter_.rest(0, levels_);
}

Space::End Walker::run(llvm::function_ref<bool(Levels)> visit) {
  visit_ = visit;
  bool ruled = std::any_of(rules_at_.begin(), rules_at_.end(), [](const auto& rules) { return !rules.empty(); });
  if (!ruled && !options_.only_first && product_ > options_.most_points) return Space::End::TooMany;
  return enter(0);
}

/// The first `depth` factors are chosen.
Space::End Walker::enter(size_t depth) {
  if (++steps_ > options_.most_steps) return Space::End::TooMany;
  for (const Space::Rule* rule : rules_at_[depth]) {
    if (!rule->condition->tabulated()) steps_ += kSlowRule;
    Condition::Answer answer = rule->condition->at(levels_);
    if (answer == (rule->wanted ? Condition::Answer::Yes : Condition::Answer::No)) continue;
    if (answer == Condition::Answer::None) return fail(*rule->condition);
    remove(*rule, depth);
    return Space::End::Done;
  }
  if (depth < levels_.size()) return descend(depth);
  if (++points_ > options_.most_points) return Space::End::TooMany;
  return visit_(levels_) ? Space::End::Done : Space::End::Stopped;
}

Space::End Walker::descend(size_t depth) {
  unsigned factor = space_.order()[depth];
  if (const Condition* activity = space_.activity(factor)) {
    Condition::Answer answer = activity->at(levels_);
    if (answer == Condition::Answer::None) return fail(*activity);
    if (answer == Condition::Answer::No) {
      if (options_.present == factor) return Space::End::Done;
      levels_[factor] = kAbsent;
      Space::End end = enter(depth + 1);
      levels_[factor] = kOpen;
      return end;
    }
  }
  for (unsigned level : kept_[factor]) {
    levels_[factor] = level;
    Space::End end = enter(depth + 1);
    if (end != Space::End::Done) return end;
    // What nothing looks at cannot make the rest empty.
    if (options_.only_first && !involved_[factor]) break;
  }
  levels_[factor] = kOpen;
  return Space::End::Done;
}

void Walker::remove(const Space::Rule& rule, size_t depth) {
  if (!options_.count_removed) return;
  Removed& removed = removed_[rule.index];
  removed.count = add(removed.count, counter_.rest(depth, levels_));
  if (removed.examples.size() < kExamples) removed.examples.push_back(levels_);
}

Space::End Walker::fail(const Condition& condition) {
  space_.failed_ = &condition;
  space_.failed_at_ = levels_;
  return Space::End::Failed;
}

std::optional<std::vector<unsigned>> minimalConflict(const Space& space, const std::vector<std::vector<unsigned>>& kept,
                                                     std::optional<unsigned> present) {
  std::vector<bool> rules(space.study().rules.size());
  auto empty = [&] {
    Walker::Options options;
    options.rules = &rules;
    options.levels = &kept;
    options.present = present;
    options.only_first = true;
    options.most_steps = kMaxConflictSteps;
    return Walker(space, options).run([](Levels) { return false; }) == Space::End::Done;
  };
  for (const Space::Rule& rule : space.rules()) rules[rule.index] = true;
  if (!empty()) return std::nullopt;
  // Dropping from the end keeps the first of several equally good sets.
  for (size_t i = rules.size(); i-- > 0;) {
    if (!rules[i]) continue;
    rules[i] = false;
    if (!empty()) rules[i] = true;
  }
  std::vector<unsigned> result;
  for (unsigned i = 0; i < rules.size(); ++i)
    if (rules[i]) result.push_back(i);
  return result;
}

}  // namespace expc::expand
