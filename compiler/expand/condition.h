#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "compiler/expand/assignment.h"

namespace expc::expand {

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
    uint64_t index = 0;
    for (size_t i = 0; i < factors_.size(); ++i) {
      unsigned level = levels[factors_[i]];
      index += stride_[i] * (level == kAbsent ? absent_[i] : level);
    }
    if (yes_[index >> 6] >> (index & 63) & 1) return Answer::Yes;
    return !none_.empty() && none_[index >> 6] >> (index & 63) & 1 ? Answer::None : Answer::No;
  }
  bool holds(Levels levels) const { return at(levels) == Answer::Yes; }

  /// Whether the answer is the same everywhere that the selection keeps (and is not None).
  std::optional<bool> constant() const;
  /// Whether asking is a look into a table.
  bool tabulated() const { return tabulated_; }
  /// Whether some kept combination has `answer`; nothing where that cannot be told.
  std::optional<bool> ever(Answer answer) const;
  /// Reports the first kept combination at which there is no value; false after a report.
  bool requireValues(diag::Emitter& emitter) const;
  /// Reports why there is no value at `levels`.
  void report(Levels levels, diag::Emitter& emitter) const;

 private:
  Answer evaluate(Levels levels) const;
  void tabulate();
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
