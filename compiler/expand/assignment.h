#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/expand/levels.h"
#include "compiler/select/select.h"

namespace expc::expand {

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

/// Reports why a formula has no value at a point.
void reportAt(const check::Failure& failure, const select::Selected& selected, const Assignment& at,
              diag::Emitter& emitter);

}  // namespace expc::expand
