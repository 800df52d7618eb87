#pragma once

// The points of a selected study: by their levels, the values of the parameters there, and conditions on these.

#include <llvm/ADT/STLFunctionalExtras.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/select/select.h"

namespace expc::expand {

/// A point by its levels: for each factor of the study an index into its declared levels.
using Levels = std::span<const unsigned>;

/// A factor that is not active at the point: it has no level there.
inline constexpr unsigned kAbsent = ~0u;
/// A factor that is not chosen yet.
inline constexpr unsigned kOpen = ~0u - 1;

/// A number for the levels of some factors, another one for others; nothing where it would not fit.
std::optional<uint64_t> keyOf(const check::Study& study, std::span<const unsigned> factors, Levels levels);

/// Whose eyes a formula sees the parameters with. Where a study's factor is not active, the study's own formulas (its
/// rules, `where`, `when` of factors) see no value, while the workload's (its rules, `when` of parameters, estimates)
/// see the default, which is what will run.
enum class View { Study, Workload };

/// "precision=fp64 gpus=1": chosen and active factors only.
std::string labelOf(const check::Study& study, Levels levels);

/// The values of a study's parameters at one point, or at the chosen part of one.
class Assignment {
 public:
  explicit Assignment(const select::Selected& selected, const check::System* system = nullptr,
                      const check::Lookup* lookup = nullptr);

  /// Chooses a level, kAbsent or kOpen. What depends on it must be settled again.
  void set(unsigned factor, unsigned level) { levels_[factor] = level; }
  void set(Levels levels) { levels_.assign(levels.begin(), levels.end()); }

  /// Computes the values of some parameters, given in ascending order and with all that their `when`s read. The
  /// failure of a `when` that has no value.
  std::optional<check::Failure> settle(std::span<const unsigned> parameters);
  /// The same for all parameters.
  std::optional<check::Failure> settle();

  /// A formula whose parameters are settled.
  check::Outcome evaluate(const check::Formula& formula, View view) const;
  /// What runs: null where the parameter is not active in the workload.
  const check::Value* value(unsigned parameter) const { return workload_[parameter]; }
  /// The workload that runs, as an index into Study::uses.
  unsigned use() const;
  std::string label() const { return labelOf(*selected_.study, levels_); }

 private:
  std::optional<check::Failure> settleOne(unsigned parameter);

  const select::Selected& selected_;
  const check::System* system_;
  const check::Lookup* lookup_;
  std::vector<unsigned> levels_;                       // by factor
  std::vector<unsigned> slot_;                         // by parameter: its place in its factor's tuples
  std::vector<const check::Value*> study_, workload_;  // by parameter
};

class Space;

/// Above this many combinations of levels a condition is evaluated when it is asked instead of beforehand.
inline constexpr uint64_t kMaxTable = uint64_t{1} << 20;

/// A condition of a study, made quick to ask at any point: a table over the levels of the factors that it reads.
class Condition {
 public:
  enum class Answer : uint8_t { No, Yes, None };  // None: it has no value there

  /// `formula` is boolean. With a system it may read `system`.
  Condition(const Space& space, check::FormulaPtr formula, View view, const check::System* system = nullptr);

  /// The factors that the answer depends on, through activity too, in walking order. All of them must be chosen.
  const std::vector<unsigned>& factors() const { return factors_; }
  Answer at(Levels levels) const {
    if (!tabulated_) return evaluate(levels);
    const uint64_t index = indexOf(levels);
    if (yes_[index >> 6] >> (index & 63) & 1) return Answer::Yes;
    return !none_.empty() && none_[index >> 6] >> (index & 63) & 1 ? Answer::None : Answer::No;
  }
  bool holds(Levels levels) const { return at(levels) == Answer::Yes; }

  /// Whether asking is a look into a table.
  bool tabulated() const { return tabulated_; }
  /// Whether some kept combination has `answer`; nothing where that cannot be told.
  std::optional<bool> ever(Answer answer) const;
  /// Reports the first kept combination at which there is no value; false after a report.
  bool requireValues(diag::Emitter& emitter) const;
  /// Reports why there is no value at `levels`.
  void report(Levels levels, diag::Emitter& emitter) const;

 private:
  uint64_t indexOf(Levels levels) const {
    uint64_t index = 0;
    for (size_t i = 0; i < factors_.size(); ++i)
      index += stride_[i] * (levels[factors_[i]] == kAbsent ? absent_[i] : levels[factors_[i]]);
    return index;
  }
  Answer evaluate(Levels levels) const;
  /// Calls `visit(levels, kept)` for each combination of the factors that activity allows.
  template <typename Visit>
  void combinations(size_t depth, bool kept, std::vector<unsigned>& levels, const Visit& visit) const;

  const Space& space_;
  check::FormulaPtr formula_;
  View view_;
  std::vector<unsigned> parameters_;  // to settle before the formula is evaluated
  std::vector<unsigned> factors_;
  std::vector<uint64_t> stride_;
  std::vector<unsigned> absent_;  // the digit of kAbsent
  bool tabulated_ = false;
  std::vector<uint64_t> yes_, none_;     // bits
  uint64_t kept_yes_ = 0, kept_no_ = 0;  // combinations that the selection keeps
  std::vector<unsigned> first_none_;     // of those, the first without a value
  mutable Assignment at_;
};

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
  friend struct Walker;
  explicit Space(const select::Selected& selected);
  /// Whether all rules look at no more than kMaxRuleWork combinations of levels; false after reporting the one that is
  /// too much. It is asked before any is compiled.
  bool rulesAreFew(diag::Emitter& emitter) const;

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

struct WalkOptions {
  const std::vector<bool>* rules = nullptr;                    // of the study, which apply; null: all
  const std::vector<std::vector<unsigned>>* levels = nullptr;  // by factor; null: what the selection keeps
  std::optional<unsigned> present = {};                        // a factor that must be active
  bool only_first = false;     // factors that no rule reads need not be tried one by one
  bool count_removed = false;  // for each rule
  uint64_t most_points = kMaxPoints;
  uint64_t most_steps = 4 * kMaxPoints;
};

/// What a rule leaves out.
struct Removed {
  uint64_t count = 0;                           // the first violated rule counts
  std::vector<std::vector<unsigned>> examples;  // the first few; kOpen where a factor was not looked at
};

/// What a walk over the points of a space found.
struct Walk {
  Space::End end = Space::End::Done;
  /// How many points the product has. This and Removed::count are exact, unless they do not fit or too many factors
  /// depend on each other to count: then they are the largest number.
  uint64_t product = 0;
  std::vector<Removed> removed;  // by rule of the study; with `count_removed`
  bool exhausted = false;        // TooMany: not the points were too many, but the combinations that rules had to judge
};
/// Calls `visit` for each point in order, until it says false.
Walk walk(const Space& space, const WalkOptions& options, llvm::function_ref<bool(Levels)> visit);

/// A smallest set of rules (indices) that together leave no point with the levels in `kept` (and with `present`
/// active): none can be missed. Nothing if some point is left, or if it is too large to tell.
std::optional<std::vector<unsigned>> minimalConflict(const Space& space, const std::vector<std::vector<unsigned>>& kept,
                                                     std::optional<unsigned> present = std::nullopt);

}  // namespace expc::expand
