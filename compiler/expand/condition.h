#pragma once

// Points by their levels, the values of the parameters there, and conditions on these.

#include <cstdint>
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

}  // namespace expc::expand
