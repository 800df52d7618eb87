#pragma once

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/expand/condition.h"

namespace expc::expand {

/// More points than this are refused everywhere: looking at each would take minutes.
inline constexpr uint64_t kMaxPoints = 100'000'000;

/// So many combinations of levels all rules of a study may look at, so that compiling them takes seconds at most.
inline constexpr uint64_t kMaxRuleWork = uint64_t{1} << 25;

/// Why a combination of levels is no point.
struct Obstacle {
  enum class Kind {
    LeftOut,   // the selection keeps this level of `factor` out
    Inactive,  // `factor` is not active there, and has a level
    Unchosen,  // `factor` is active there, and has none
    Rule       // `rule` (an index into Study::rules) removes it
  } kind = Kind::Rule;
  unsigned factor = 0;
  unsigned rule = 0;

  auto operator<=>(const Obstacle&) const = default;
};

/// The points of a selected study: those of the product at which all rules hold that do not ask about the system. A
/// factor that is not active at a point has no level there, so it multiplies nothing. Compiled once; then the
/// questions are table lookups, and no point is kept in memory. The selection must outlive it. Not for several threads.
class Space {
 public:
  /// Null after reporting a rule or a `when` that has no value where the selection keeps its levels (E0210, E0211,
  /// E0223), whatever other rules exclude.
  static std::unique_ptr<Space> compile(const select::Selected& selected, diag::Emitter& emitter);

  const select::Selected& selected() const { return selected_; }
  const check::Study& study() const { return *selected_.study; }
  size_t width() const { return study().factors.size(); }
  /// The factors as they are walked: as declared, but each after those that its activity reads.
  const std::vector<unsigned>& order() const { return order_; }

  bool kept(unsigned factor, unsigned level) const { return kept_[factor][level]; }
  /// Whether a factor varies at a (partial) point; what its activity reads must be chosen.
  bool active(unsigned factor, Levels levels) const { return !activity_[factor] || activity_[factor]->holds(levels); }
  const Condition* activity(unsigned factor) const { return activity_[factor].get(); }
  /// Where the workload has a parameter; null: everywhere.
  const Condition* when(unsigned parameter) const { return when_[parameter].get(); }
  /// The workload that runs there, as an index into Study::uses.
  unsigned use(Levels levels) const { return study().hasWorkloadFactor() ? levels[0] : 0; }

  /// The rules that define the points, as indices into Study::rules, with their conditions.
  struct Rule {
    unsigned index = 0;
    std::unique_ptr<Condition> condition;
    bool wanted = true;  // of the condition
    bool holds(Levels levels) const {
      return condition->at(levels) == (wanted ? Condition::Answer::Yes : Condition::Answer::No);
    }
  };
  const std::vector<Rule>& rules() const { return rules_; }

  /// Whether these levels are a point.
  bool contains(Levels levels) const;
  /// Why they are not; nothing if they are. The first rule in declared order is named.
  std::optional<Obstacle> whyNot(Levels levels) const;

  /// Calls `visit` for each point in order, never one that a rule excludes: a rule is asked as soon as its factors are
  /// chosen. Stops where `visit` says false.
  enum class End { Done, Stopped, TooMany, Failed };
  End forEach(llvm::function_ref<bool(Levels)> visit) const;
  /// After Failed: reports the rule or `when` that has no value (one too large to be looked at beforehand).
  void reportFailure(diag::Emitter& emitter) const;

  /// The values of a parameter at the levels of the factor that varies it, in order; none where nothing does.
  std::vector<const check::Value*> varied(unsigned parameter) const;

  /// What a formula depends on: parameters (ascending, with those that their `when`s read) and factors (through
  /// activity too, in walking order).
  struct Reads {
    std::vector<unsigned> parameters, factors;
  };
  Reads readsOf(const check::Formula& formula) const;

 private:
  friend class Walker;
  explicit Space(const select::Selected& selected);
  /// Whether all rules look at no more than kMaxRuleWork; false after reporting the one that is too much. It is asked
  /// before any is compiled.
  bool rulesAreFew(diag::Emitter& emitter) const;
  /// At how many combinations of levels a formula is evaluated at most to know all its values.
  uint64_t combinations(const check::Formula& formula) const;

  const select::Selected& selected_;
  std::vector<unsigned> order_, position_;            // position_: by factor, its place in order_
  std::vector<std::vector<bool>> kept_;               // by factor and level
  std::vector<bool> differs_;                         // by parameter: its argument depends on the workload
  std::vector<std::unique_ptr<Condition>> activity_;  // by factor; null: everywhere active
  std::vector<std::unique_ptr<Condition>> when_;      // by parameter; null: everywhere active
  std::vector<Rule> rules_;
  mutable const Condition* failed_ = nullptr;
  mutable std::vector<unsigned> failed_at_;
};

}  // namespace expc::expand
