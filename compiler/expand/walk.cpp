// Walks over the points: depth-first over the factors, in walking order, asking each rule at the depth at which
// its last factor is chosen. So a product of 10^12 with tight rules costs what the rules leave. Branches that a
// rule cuts are not visited but counted (Counter), so that points + removed = product holds exactly.
//
// If the product exceeds the limit, a first walk only counts points: it is much faster than visiting them, and
// decides whether the study is refused.

#include <algorithm>
#include <set>
#include <unordered_map>

#include "compiler/expand/space.h"

namespace expc::expand {
namespace {

// Limits of the search for conflicting rules, which walks once for each rule, and of counting: about a second
// each.
constexpr uint64_t kMaxConflictSteps = 200'000;
constexpr uint64_t kMaxCountSteps = 50'000'000;
// Remembered counts at one depth; then the memory is emptied.
constexpr size_t kMaxKnown = 1 << 16;
// Removed combinations that are shown for each rule.
constexpr size_t kExamples = 3;
// Steps that evaluating a rule without a table counts for.
constexpr uint64_t kSlowRule = 40;
// Stands for "too many to count"; sums and products saturate at it.
constexpr uint64_t kUncounted = ~uint64_t{0};

uint64_t multiply(uint64_t a, uint64_t b) {
  uint64_t result;
  return __builtin_mul_overflow(a, b, &result) ? kUncounted : result;
}
uint64_t add(uint64_t a, uint64_t b) { return a + b < a ? kUncounted : a + b; }

}  // namespace

/// Counts the combinations of the remaining factors that activity allows, from any partial point: the size of
/// the product, and of the branches that a rule cuts. If no remaining factor is conditional, the count is a
/// product. Otherwise it depends on the levels that later activities read, and is remembered by these (dynamic
/// programming).
struct Counter {
  const Space& space;
  const std::vector<std::vector<unsigned>>& kept;
  /// For each depth: the product of the numbers of levels from there on, as if all factors were active.
  std::vector<uint64_t> plain = {};
  /// For each depth: whether some factor from there on has an activity.
  std::vector<bool> conditional = {};
  /// For each depth: whether the activity of a later factor reads this one; otherwise all its levels count alike.
  std::vector<bool> controls = {};
  /// For each depth: the earlier factors that activities from there on read. The count depends on their levels alone.
  std::vector<std::vector<unsigned>> relevant = {};
  /// For each depth: counts by keyOf(relevant factors).
  std::vector<std::unordered_map<uint64_t, uint64_t>> known = {};
  uint64_t steps = 0;

  /// Fills the tables from the last factor to the first, collecting what later activities read.
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

  /// The number of combinations of the factors from `depth` on, given the levels of those before. `levels` is
  /// left as it was.
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

  /// `rest` without its memory, for a depth with conditional factors.
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

/// One walk: its options, the point under way, and what was found.
struct Walker {
  using End = Space::End;
  const Space& space;
  const WalkOptions& options;
  function_ref<bool(Levels)> visit;
  const std::vector<std::vector<unsigned>>& kept = options.levels ? *options.levels : space.selected().levels;
  std::vector<unsigned> levels = std::vector<unsigned>(space.width(), kOpen);
  /// For each depth: the rules whose factors are all chosen once that many factors are.
  std::vector<std::vector<const Space::Rule*>> rules_at = {};
  /// For each factor: whether some rule or activity reads it.
  std::vector<bool> involved = {};
  Counter counter{space, kept};
  /// The depth after which no rule is asked; from there on points can be counted without being visited.
  size_t last_ruled = 0;
  /// Counts points without calling `visit` and without recording removed combinations.
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
    // The product is only an upper bound of the points. Counting them is many times faster than visiting, so
    // find out first whether they are too many.
    const bool perhaps_many = !options.only_first && found.product > options.most_points;
    found.end = perhaps_many ? counted(ruled) : End::Done;
    if (found.end == End::Done) found.end = enter(0);
    found.exhausted = steps > options.most_steps;
    return std::move(found);
  }

  /// Counts points without visiting any; Done if they are few enough. Without rules the product is the count.
  End counted(bool ruled) {
    if (!ruled) return End::TooMany;
    counting = true;
    const End end = enter(0);
    if (end != End::Done) return end;
    counting = false;
    points = steps = 0;
    return end;
  }

  /// Marks the factors of a condition, and returns the depth at which all of them are chosen.
  size_t involve(const Condition& condition) {
    size_t depth = 0;
    for (unsigned factor : condition.factors()) {
      involved[factor] = true;
      depth = std::max<size_t>(depth, space.position_[factor] + 1);
    }
    return depth;
  }

  /// Continues at a partial point of which the first `depth` factors are chosen.
  End enter(size_t depth) {
    if (++steps > options.most_steps) return End::TooMany;
    for (const Space::Rule* rule : rules_at[depth]) {
      if (!rule->condition->tabulated()) steps += kSlowRule;
      Condition::Answer answer = rule->condition->at(levels);
      if (answer == (rule->wanted ? Condition::Answer::Yes : Condition::Answer::No)) continue;
      if (answer == Condition::Answer::None) return fail(*rule->condition);
      if (options.count_removed && !counting) remove(found.removed[rule->index], depth);
      return End::Done;
    }
    // No rule is left and no activity: the rest is a product.
    if (counting && depth >= last_ruled && !counter.conditional[depth]) {
      points = add(points, counter.plain[depth]);
      return points > options.most_points ? End::TooMany : End::Done;
    }
    if (depth < levels.size()) return descend(depth);
    if (++points > options.most_points) return End::TooMany;
    return counting || visit(levels) ? End::Done : End::Stopped;
  }

  /// Chooses each level of the factor at `depth`, or kAbsent if it is not active.
  End descend(size_t depth) {
    unsigned factor = space.order()[depth];
    if (const Condition* activity = space.activity(factor)) {
      Condition::Answer answer = activity->at(levels);
      if (answer == Condition::Answer::None) return fail(*activity);
      if (answer == Condition::Answer::No) {
        if (options.present == factor) return End::Done;
        levels[factor] = kAbsent;
        End end = enter(depth + 1);
        levels[factor] = kOpen;
        return end;
      }
    }
    for (unsigned level : kept[factor]) {
      levels[factor] = level;
      End end = enter(depth + 1);
      if (end != End::Done) return end;
      // No rule looks at this factor, so its other levels leave no point either.
      if (options.only_first && !involved[factor]) break;
    }
    levels[factor] = kOpen;
    return End::Done;
  }

  /// Adds the cut branch to the rule that cut it.
  void remove(Removed& removed, size_t depth) {
    removed.count = add(removed.count, counter.rest(depth, levels));
    if (removed.examples.size() < kExamples) removed.examples.push_back(levels);
  }

  /// Remembers where a condition has no value, for Space::reportFailure.
  End fail(const Condition& condition) {
    space.failed_ = &condition;
    space.failed_at_ = levels;
    return End::Failed;
  }
};

Walk walk(const Space& space, const WalkOptions& options, function_ref<bool(Levels)> visit) {
  return Walker{space, options, visit}.run();
}

std::optional<std::vector<unsigned>> minimalConflict(const Space& space, const std::vector<std::vector<unsigned>>& kept,
                                                     std::optional<unsigned> present) {
  std::vector<bool> rules(space.study().rules.size());
  // Each question is a walk that stops at the first point. A walk that takes too long counts as "some point may
  // be left".
  auto empty = [&] {
    const WalkOptions options{
        .rules = &rules, .levels = &kept, .present = present, .only_first = true, .most_steps = kMaxConflictSteps};
    return walk(space, options, [](Levels) { return false; }).end == Space::End::Done;
  };
  for (const Space::Rule& rule : space.rules()) rules[rule.index] = true;
  if (!empty()) return std::nullopt;
  // Deletion filter: drop each rule that is not needed. From the end, so that of several minimal sets the one
  // with the rules declared first is found.
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
