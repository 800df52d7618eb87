#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/expand/space.h"

namespace expc::expand {
namespace {

constexpr uint64_t kMaxConflictSteps = 200'000;
constexpr uint64_t kMaxCountSteps = 50'000'000;
constexpr size_t kMaxKnown = 1 << 16;
constexpr size_t kExamples = 3;
constexpr uint64_t kSlowRule = 40;  // steps that a rule without a table takes as long as
constexpr uint64_t kUncounted = ~uint64_t{0};

uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? kUncounted : result;
}
uint64_t add(uint64_t a, uint64_t b) { return a + b < a ? kUncounted : a + b; }

}  // namespace

/// How many points the product has, and how many a cut branch would have held.
struct Counter {
  const Space& space;
  const std::vector<std::vector<unsigned>>& kept;
  std::vector<uint64_t> plain = {};    // by depth: the product, where nothing from there on is conditional
  std::vector<bool> conditional = {};  // by depth: something from there on is
  std::vector<bool> controls = {};     // by depth: the activity of a later factor reads this one
  std::vector<std::vector<unsigned>> relevant = {};  // by depth: earlier factors that the activity of later ones reads
  std::vector<std::unordered_map<uint64_t, uint64_t>> known = {};  // by depth, by the levels of the relevant ones
  uint64_t steps = 0;

  void prepare() {
    const auto& order = space.order();
    const size_t width = order.size();
    plain.assign(width + 1, 1);
    conditional.assign(width + 1, false);
    controls.assign(width, false);
    relevant.resize(width + 1);
    known.resize(width + 1);
    std::set<unsigned> read;
    for (size_t depth = width; depth-- > 0;) {
      unsigned factor = order[depth];
      controls[depth] = read.contains(factor);
      plain[depth] = multiply(plain[depth + 1], kept[factor].size());
      conditional[depth] = conditional[depth + 1] || space.activity(factor);
      if (const Condition* activity = space.activity(factor))
        read.insert(activity->factors().begin(), activity->factors().end());
      for (size_t before = 0; before < depth; ++before)
        if (read.contains(order[before])) relevant[depth].push_back(order[before]);
    }
  }

  /// Combinations of the factors from `depth` on (in walking order), given those before.
  uint64_t rest(size_t depth, std::vector<unsigned>& levels) {
    if (!conditional[depth]) return plain[depth];
    const auto key = keyOf(space.study(), relevant[depth], levels);
    if (!key) return count(depth, levels);
    if (auto found = known[depth].find(*key); found != known[depth].end()) return found->second;
    uint64_t result = count(depth, levels);
    if (known[depth].size() == kMaxKnown) known[depth].clear();
    known[depth].emplace(*key, result);
    return result;
  }

  uint64_t count(size_t depth, std::vector<unsigned>& levels) {
    if (++steps > kMaxCountSteps) return kUncounted;
    unsigned factor = space.order()[depth];
    unsigned before = levels[factor];
    uint64_t sum = 0;
    if (!space.active(factor, levels)) {
      levels[factor] = kAbsent;
      sum = rest(depth + 1, levels);
    } else if (!controls[depth]) {
      sum = kept[factor].empty() ? 0 : multiply(kept[factor].size(), rest(depth + 1, levels));
    } else {
      for (unsigned level : kept[factor]) {
        levels[factor] = level;
        sum = add(sum, rest(depth + 1, levels));
      }
    }
    levels[factor] = before;
    return sum;
  }
};

struct Walker {
  const Space& space;
  const WalkOptions& options;
  llvm::function_ref<bool(Levels)> visit;
  const std::vector<std::vector<unsigned>>& kept = options.levels ? *options.levels : space.selected().levels;
  std::vector<unsigned> levels = std::vector<unsigned>(space.width(), kOpen);
  std::vector<std::vector<const Space::Rule*>> rules_at = {};  // by the number of factors that must be chosen
  std::vector<bool> involved = {};                             // by factor: some rule or activity reads it
  Counter counter{space, kept};
  size_t last_ruled = 0;  // the number of factors after which no rule is asked
  bool counting = false;
  uint64_t points = 0, steps = 0;
  Walk found = {};

  Walk run() {
    rules_at.resize(space.width() + 1);
    involved.resize(space.width());
    found.removed.resize(space.study().rules.size());
    counter.prepare();
    bool ruled = false;
    for (const Space::Rule& rule : space.rules()) {
      if (options.rules && !(*options.rules)[rule.index]) continue;
      const size_t depth = involve(*rule.condition);
      rules_at[depth].push_back(&rule);
      last_ruled = std::max(last_ruled, depth);
      ruled = true;
    }
    for (unsigned factor = 0; factor < space.width(); ++factor)
      if (const Condition* activity = space.activity(factor)) involve(*activity);
    if (!options.only_first) found.product = counter.rest(0, levels);
    // Visiting points takes many times as long as counting them.
    const bool perhaps_many = !options.only_first && found.product > options.most_points;
    found.end = perhaps_many ? counted(ruled) : Space::End::Done;
    if (found.end == Space::End::Done) found.end = enter(0);
    found.exhausted = steps > options.most_steps;
    return std::move(found);
  }

  /// The end of a walk that visits nothing.
  Space::End counted(bool ruled) {
    if (!ruled) return Space::End::TooMany;
    counting = true;
    const Space::End end = enter(0);
    if (end != Space::End::Done) return end;
    counting = false;
    points = steps = 0;
    return end;
  }

  size_t involve(const Condition& condition) {
    size_t depth = 0;
    for (unsigned factor : condition.factors()) {
      involved[factor] = true;
      depth = std::max<size_t>(depth, space.position_[factor] + 1);
    }
    return depth;
  }

  /// The first `depth` factors are chosen.
  Space::End enter(size_t depth) {
    if (++steps > options.most_steps) return Space::End::TooMany;
    for (const Space::Rule* rule : rules_at[depth]) {
      if (!rule->condition->tabulated()) steps += kSlowRule;
      Condition::Answer answer = rule->condition->at(levels);
      if (answer == (rule->wanted ? Condition::Answer::Yes : Condition::Answer::No)) continue;
      if (answer == Condition::Answer::None) return fail(*rule->condition);
      if (options.count_removed && !counting) remove(found.removed[rule->index], depth);
      return Space::End::Done;
    }
    if (counting && depth >= last_ruled && !counter.conditional[depth]) {
      points = add(points, counter.plain[depth]);
      return points > options.most_points ? Space::End::TooMany : Space::End::Done;
    }
    if (depth < levels.size()) return descend(depth);
    if (++points > options.most_points) return Space::End::TooMany;
    return counting || visit(levels) ? Space::End::Done : Space::End::Stopped;
  }

  Space::End descend(size_t depth) {
    unsigned factor = space.order()[depth];
    if (const Condition* activity = space.activity(factor)) {
      Condition::Answer answer = activity->at(levels);
      if (answer == Condition::Answer::None) return fail(*activity);
      if (answer == Condition::Answer::No) {
        if (options.present == factor) return Space::End::Done;
        levels[factor] = kAbsent;
        Space::End end = enter(depth + 1);
        levels[factor] = kOpen;
        return end;
      }
    }
    for (unsigned level : kept[factor]) {
      levels[factor] = level;
      Space::End end = enter(depth + 1);
      if (end != Space::End::Done) return end;
      // What nothing looks at cannot make the rest empty.
      if (options.only_first && !involved[factor]) break;
    }
    levels[factor] = kOpen;
    return Space::End::Done;
  }

  void remove(Removed& removed, size_t depth) {
    removed.count = add(removed.count, counter.rest(depth, levels));
    if (removed.examples.size() < kExamples) removed.examples.push_back(levels);
  }

  Space::End fail(const Condition& condition) {
    space.failed_ = &condition;
    space.failed_at_ = levels;
    return Space::End::Failed;
  }
};

Walk walk(const Space& space, const WalkOptions& options, llvm::function_ref<bool(Levels)> visit) {
  return Walker{space, options, visit}.run();
}

std::optional<std::vector<unsigned>> minimalConflict(const Space& space, const std::vector<std::vector<unsigned>>& kept,
                                                     std::optional<unsigned> present) {
  std::vector<bool> rules(space.study().rules.size());
  auto empty = [&] {
    const WalkOptions options{
        .rules = &rules, .levels = &kept, .present = present, .only_first = true, .most_steps = kMaxConflictSteps};
    return walk(space, options, [](Levels) { return false; }).end == Space::End::Done;
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
