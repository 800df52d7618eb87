#pragma once

#include <map>
#include <unordered_map>
#include <vector>

#include "compiler/expand/space.h"

namespace expc::expand {

/// How many points the product has, and how many a cut branch would have held. Exact, unless it does not fit or too
/// many factors depend on each other to count: then it is the largest number.
class Counter {
 public:
  static constexpr uint64_t kUncounted = ~uint64_t{0};

  Counter(const Space& space, const std::vector<std::vector<unsigned>>& kept);
  /// Combinations of the factors from `depth` on (in walking order), given those before.
  uint64_t rest(size_t depth, std::vector<unsigned>& levels);

 private:
  uint64_t count(size_t depth, std::vector<unsigned>& levels);

  const Space& space_;
  const std::vector<std::vector<unsigned>>& kept_;
  std::vector<uint64_t> plain_;                  // by depth: the product, where nothing from there on is conditional
  std::vector<bool> conditional_;                // by depth: something from there on is
  std::vector<bool> controls_;                   // by depth: the activity of a later factor reads this one
  std::vector<std::vector<unsigned>> relevant_;  // by depth: earlier factors that the activity of later ones reads
  std::vector<std::unordered_map<uint64_t, uint64_t>> known_;  // by depth, by the levels of the relevant ones
  uint64_t steps_ = 0;
};

/// One walk over the points of a space.
class Walker {
 public:
  struct Options {
    const std::vector<bool>* rules = nullptr;                    // of the study, which apply; null: all
    const std::vector<std::vector<unsigned>>* levels = nullptr;  // by factor; null: what the selection keeps
    std::optional<unsigned> present;                             // a factor that must be active
    bool only_first = false;     // factors that no rule reads need not be tried one by one
    bool count_removed = false;  // for each rule
    uint64_t most_points = kMaxPoints;
    uint64_t most_steps = 4 * kMaxPoints;
  };
  struct Removed {
    uint64_t count = 0;                           // the first violated rule counts
    std::vector<std::vector<unsigned>> examples;  // the first few; kOpen where a factor was not looked at
  };

  Walker(const Space& space, Options options);
  Space::End run(llvm::function_ref<bool(Levels)> visit);

  const std::vector<Removed>& removed() const { return removed_; }  // by rule of the study
  uint64_t product() { return product_; }
  /// After TooMany: not the points were too many, but the combinations that rules had to judge.
  bool exhausted() const { return steps_ > options_.most_steps; }

 private:
  Space::End descend(size_t depth);
  Space::End enter(size_t depth);
  void remove(const Space::Rule& rule, size_t depth);
  Space::End fail(const Condition& condition);

  const Space& space_;
  Options options_;
  const std::vector<std::vector<unsigned>>& kept_;
  std::vector<unsigned> levels_;
  std::vector<std::vector<const Space::Rule*>> rules_at_;  // by the number of factors that must be chosen
  std::vector<bool> involved_;                             // by factor: some rule or activity reads it
  std::vector<Removed> removed_;
  Counter counter_;
  uint64_t product_ = 0, points_ = 0, steps_ = 0;
  llvm::function_ref<bool(Levels)> visit_;
};

/// A smallest set of rules (indices) that together leave no point with the levels in `kept` (and with `present`
/// active): none can be missed. Nothing if some point is left, or if it is too large to tell.
std::optional<std::vector<unsigned>> minimalConflict(const Space& space, const std::vector<std::vector<unsigned>>& kept,
                                                     std::optional<unsigned> present = std::nullopt);

}  // namespace expc::expand
