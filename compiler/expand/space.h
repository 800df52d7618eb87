#pragma once

// The points of a selected study: the combinations of levels at which every rule holds. Nobody stores them. A
// Space compiles rules, `when`s and activities into Conditions (bit tables over the factors that they read),
// and answers three questions from these: is this a point, why not, and visit all points in order (walk).
//
// A factor that is not active at a point has no level there (kAbsent), so it multiplies nothing: two points
// that differ only in an inactive factor are one. Rules that ask about `system` are left out here; they make
// points unavailable on a machine, but do not change which points a study has.

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/expand/select.h"
#include "runtime/base/llvm.h"

namespace expc::expand {

/// A point, complete or partial: for each factor of the study an index into its declared levels, kAbsent or
/// kOpen.
using Levels = std::span<const unsigned>;

/// The factor is not active at this point, so it has no level.
inline constexpr unsigned kAbsent = ~0u;
/// The factor is not chosen yet. Less than kAbsent, so `level < kOpen` means a real level.
inline constexpr unsigned kOpen = ~0u - 1;

/// A number that is unique to the levels of these factors (mixed radix, one more digit for kAbsent). Nothing if
/// it exceeds 64 bits.
std::optional<uint64_t> keyOf(const check::Study& study, std::span<const unsigned> factors, Levels levels);

/// The values that a formula sees where a study's factor is not active. The study's own formulas (rules,
/// `where`, `when` of factors) see no value. The workload's formulas (rules, `when` of parameters, estimates)
/// see the default, since the program runs with it.
enum class View { Study, Workload };

/// "precision=fp64 gpus=1": the chosen and active factors, in declared order.
std::string labelOf(const check::Study& study, Levels levels);

/// The values of all parameters at one point, for evaluating formulas there. Reusable: set levels, resolve,
/// evaluate. Values are pointers into the selection, which must outlive it. `system` and `lookup` may be null;
/// formulas that need them then have no value.
class Assignment {
 public:
  explicit Assignment(const Selected& selected, const check::System* system = nullptr,
                      const check::Lookup* lookup = nullptr);

  /// Chooses a level, kAbsent or kOpen. Parameters that depend on it are stale until they are resolved again.
  void set(unsigned factor, unsigned level) { levels_[factor] = level; }
  void set(Levels levels) { levels_.assign(levels.begin(), levels.end()); }

  /// Computes the values of some parameters. They must be given in ascending order, with all parameters that
  /// their `when`s read; check has refused circles. Returns the failure of a `when` that has no value.
  std::optional<check::Failure> resolve(std::span<const unsigned> parameters);
  /// Computes the values of all parameters.
  std::optional<check::Failure> resolve();

  /// Evaluates a formula whose parameters are resolved.
  check::Outcome evaluate(const check::Formula& formula, View view) const;
  /// The value with which the workload runs; null if the parameter is not active there.
  const check::Value* value(unsigned parameter) const { return workload_[parameter]; }
  /// The workload that runs at the point, as an index into Study::uses.
  unsigned use() const;
  std::string label() const { return labelOf(*selected_.study, levels_); }

 private:
  std::optional<check::Failure> resolveOne(unsigned parameter);

  const Selected& selected_;
  const check::System* system_;
  const check::Lookup* lookup_;
  std::vector<unsigned> levels_;  // by factor
  // For each parameter: the index into the values of its factor's levels (0 unless the factor is in lockstep).
  std::vector<unsigned> slot_;
  // For each parameter: its value under View::Study and View::Workload; null for none.
  std::vector<const check::Value*> study_, workload_;
};

class Space;

/// A condition over at most this many combinations of levels is tabulated (128 KiB of bits); a larger one is
/// evaluated each time.
inline constexpr uint64_t kMaxTable = uint64_t{1} << 20;

/// A boolean formula of a study, compiled into a table over the levels of the factors that it reads. Asking
/// costs one index computation and one bit. Filling the table also finds every combination at which the formula
/// has no value, so such errors do not depend on other rules or on the order of declarations. Not thread-safe
/// (it evaluates into a member).
class Condition {
 public:
  /// None: the formula has no value there, as after a division by zero.
  enum class Answer : uint8_t { No, Yes, None };

  /// `formula` must be boolean; it may read `system` only if one is given. Activities that it depends on must
  /// be compiled in `space` before.
  Condition(const Space& space, check::FormulaPtr formula, View view, const check::System* system = nullptr);

  /// The factors that the answer depends on, directly or through activity, in walking order. `at` needs all of
  /// them chosen.
  const std::vector<unsigned>& factors() const { return factors_; }
  Answer at(Levels levels) const {
    if (!tabulated_) return evaluate(levels);
    const uint64_t index = indexOf(levels);
    if (yes_[index >> 6] >> (index & 63) & 1) return Answer::Yes;
    return !none_.empty() && none_[index >> 6] >> (index & 63) & 1 ? Answer::None : Answer::No;
  }
  bool holds(Levels levels) const { return at(levels) == Answer::Yes; }

  /// Whether asking is a table look-up.
  bool tabulated() const { return tabulated_; }
  /// Whether some combination that the selection keeps has this answer; nothing if the condition is not
  /// tabulated.
  std::optional<bool> ever(Answer answer) const;
  /// Reports the first kept combination without a value; false after a report. True if the condition is not
  /// tabulated: the walk finds missing values then.
  bool requireValues(diag::Emitter& emitter) const;
  /// Reports why the formula has no value at `levels`.
  void report(Levels levels, diag::Emitter& emitter) const;

 private:
  uint64_t indexOf(Levels levels) const {
    uint64_t index = 0;
    for (size_t i = 0; i < factors_.size(); ++i)
      index += stride_[i] * (levels[factors_[i]] == kAbsent ? absent_[i] : levels[factors_[i]]);
    return index;
  }
  Answer evaluate(Levels levels) const;
  /// Calls `visit(levels, kept)` for each combination of the factors that activity allows. `kept`: the
  /// selection has all of these levels.
  template <typename Visit>
  void combinations(size_t depth, bool kept, std::vector<unsigned>& levels, const Visit& visit) const;

  const Space& space_;
  check::FormulaPtr formula_;
  View view_;
  // Parameters to resolve before the formula is evaluated.
  std::vector<unsigned> parameters_;
  std::vector<unsigned> factors_;
  std::vector<uint64_t> stride_;
  // For each of factors_: the weight of its digit, and the digit that stands for kAbsent.
  std::vector<unsigned> absent_;
  bool tabulated_ = false;
  // Bits by combination; none_ stays empty while every combination has a value.
  std::vector<uint64_t> yes_, none_;
  // Numbers of combinations that the selection keeps.
  uint64_t kept_yes_ = 0, kept_no_ = 0;
  // The first of these without a value.
  std::vector<unsigned> first_none_;
  mutable Assignment at_;
};

/// The largest number of points of a study (E0404). Visiting each of them already takes minutes.
inline constexpr uint64_t kMaxPoints = 100'000'000;

/// The largest number of combinations at which all rules of a study may be evaluated to fill their tables, so
/// that compiling takes seconds at most.
inline constexpr uint64_t kMaxRuleWork = uint64_t{1} << 25;

/// The reason why a combination of levels is no point.
struct Obstacle {
  enum class Kind {
    /// The selection does not keep this level of `factor`.
    LeftOut,
    /// `factor` is not active there, but has a level.
    Inactive,
    /// `factor` is active there, but has no level.
    Unchosen,
    /// The rule `rule`, an index into Study::rules, removes it.
    Rule
  } kind = Kind::Rule;
  unsigned factor = 0;
  unsigned rule = 0;

  auto operator<=>(const Obstacle&) const = default;
};

/// The points of a selected study: the combinations at which all rules hold that do not ask about the system.
/// Compiled once; then questions are table look-ups, and no point is kept in memory. The selection must outlive
/// it. Not thread-safe.
class Space {
 public:
  /// Compiles activities, `when`s and rules. Null after reporting one that has no value at a combination that
  /// the selection keeps (E0210, E0211, E0223), even if another rule excludes that combination; or rules that
  /// are too large.
  static std::unique_ptr<Space> compile(const Selected& selected, diag::Emitter& emitter);

  const Selected& selected() const { return selected_; }
  const check::Study& study() const { return *selected_.study; }
  /// The number of factors, which is the length of Levels.
  size_t width() const { return study().factors.size(); }
  /// The factors in walking order: as declared, but each after those that its activity reads.
  const std::vector<unsigned>& order() const { return order_; }

  bool kept(unsigned factor, unsigned level) const { return kept_[factor][level]; }
  /// Whether a factor varies at a (partial) point. The factors that its activity reads must be chosen.
  bool active(unsigned factor, Levels levels) const { return !activity_[factor] || activity_[factor]->holds(levels); }
  /// The condition under which a factor is active; null: everywhere.
  const Condition* activity(unsigned factor) const { return activity_[factor].get(); }
  /// The condition under which the workload has a parameter; null: everywhere.
  const Condition* when(unsigned parameter) const { return when_[parameter].get(); }
  /// The condition under which a comparison of the study has values; null: everywhere.
  const Condition* where(const check::Comparison& comparison) const {
    return where_[&comparison - study().comparisons.data()].get();
  }
  /// The workload that runs there, as an index into Study::uses. A study with several workloads has them as
  /// factor 0.
  unsigned use(Levels levels) const { return study().hasWorkloadFactor() ? levels[0] : 0; }

  /// A rule that takes part, with its condition.
  struct Rule {
    unsigned index = 0;
    std::unique_ptr<Condition> condition;
    /// The answer that keeps a point: Yes for `require`, No for `exclude`. A point without an answer is not
    /// kept.
    bool wanted = true;
    bool holds(Levels levels) const {
      return condition->at(levels) == (wanted ? Condition::Answer::Yes : Condition::Answer::No);
    }
  };
  /// All rules that do not ask about the system, in declared order.
  const std::vector<Rule>& rules() const { return rules_; }

  /// Whether these levels, of all factors, are a point.
  bool contains(Levels levels) const;
  /// The reason why they are no point; nothing if they are one. Activity comes first, then the first rule in
  /// declared order, then the selection.
  std::optional<Obstacle> whyNot(Levels levels) const;

  /// Done: all points were visited. Stopped: `visit` returned false. TooMany: more than a limit. Failed: some
  /// condition has no value (reportFailure).
  enum class End { Done, Stopped, TooMany, Failed };
  /// Calls `visit` for each point, in walking order, until it returns false. A rule is asked as soon as its
  /// factors are chosen, so excluded combinations are mostly not even enumerated.
  End forEach(function_ref<bool(Levels)> visit) const;
  /// After Failed: reports the condition without a value. Only conditions that are not tabulated fail during a
  /// walk.
  void reportFailure(diag::Emitter& emitter) const;

  /// The values of a parameter at the levels of the factor that varies it, in declared order; empty if none
  /// does.
  std::vector<const check::Value*> varied(unsigned parameter) const;

  /// The dependencies of a formula. `parameters`: ascending, with those that their `when`s read; they must be
  /// resolved. `factors`: in walking order, also those that only decide activity; they must be chosen.
  struct Reads {
    std::vector<unsigned> parameters, factors;
  };
  Reads readsOf(const check::Formula& formula) const;

 private:
  friend struct Walker;
  explicit Space(const Selected& selected);
  /// Whether the rules' tables hold at most kMaxRuleWork combinations together; false after reporting the rule
  /// that exceeds it. Asked before any is compiled.
  bool rulesAreFew(diag::Emitter& emitter) const;

  const Selected& selected_;
  // order_: the factors in walking order. position_: by factor its index in order_.
  std::vector<unsigned> order_, position_;
  std::vector<std::vector<bool>> kept_;  // by factor and level
  // For each parameter: its value depends on which workload runs.
  std::vector<bool> differs_;
  // Indexed by factor and by parameter; null: active everywhere.
  std::vector<std::unique_ptr<Condition>> activity_;
  std::vector<std::unique_ptr<Condition>> when_;
  std::vector<std::unique_ptr<Condition>> where_;  // by comparison
  std::vector<Rule> rules_;
  // The condition that had no value in the last walk, and the levels at which it was asked.
  mutable const Condition* failed_ = nullptr;
  mutable std::vector<unsigned> failed_at_;
};

/// Restrictions and limits of one walk.
struct WalkOptions {
  /// The rules that apply, by index into Study::rules; null: all.
  const std::vector<bool>* rules = nullptr;
  /// The levels to walk, by factor; null: those that the selection keeps.
  const std::vector<std::vector<unsigned>>* levels = nullptr;
  /// Only visit points at which this factor is active.
  std::optional<unsigned> present = {};
  /// Only ask whether there is a point: tries one level of factors that no rule reads, and does not compute the
  /// product.
  bool only_first = false;
  /// Count for each rule the points that it removes.
  bool count_removed = false;
  /// Limits; beyond them the walk ends with TooMany. A step is one partial point.
  uint64_t most_points = kMaxPoints;
  uint64_t most_steps = 4 * kMaxPoints;
};

/// The combinations that one rule removes.
struct Removed {
  /// Each removed combination counts for the first rule of the walk that it violates.
  uint64_t count = 0;
  /// The first few; kOpen for factors that were not chosen when the rule was asked.
  std::vector<std::vector<unsigned>> examples;
};

/// The result of a walk over a space.
struct Walk {
  Space::End end = Space::End::Done;
  /// The number of combinations that activity allows, before rules. It and Removed::count are exact, unless
  /// they exceed 64 bits or too many factors depend on each other to count: then they are the largest number.
  uint64_t product = 0;
  /// Indexed like Study::rules; filled with `count_removed`.
  std::vector<Removed> removed;
  /// The walk ended at `most_steps`: rules had to judge too many combinations, though the points may be few.
  bool exhausted = false;
};
/// Visits each point in walking order until `visit` returns false.
Walk walk(const Space& space, const WalkOptions& options, function_ref<bool(Levels)> visit);

/// A minimal set of rules (indices into Study::rules) that together leave no point with levels in `kept` (and
/// with `present` active): without any one of them there would be points. Nothing if some point is left, or if
/// telling would take too long.
std::optional<std::vector<unsigned>> minimalConflict(const Space& space, const std::vector<std::vector<unsigned>>& kept,
                                                     std::optional<unsigned> present = std::nullopt);

}  // namespace expc::expand
