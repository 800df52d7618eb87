#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/check/check.h"

namespace expc::expand {

/// A level that is not chosen yet.
inline constexpr unsigned kOpen = ~0u;

/// The values of a workload's parameters at one point (or at the chosen part of one).
class Assignment {
 public:
  explicit Assignment(const check::Selected& selected);

  /// Chooses a level (an index into the factor's declared levels).
  void set(unsigned factor, unsigned level);
  void set(std::span<const unsigned> levels);
  unsigned level(unsigned factor) const { return levels_[factor]; }

  /// Applies the `when` of the parameters in `wanted` (null: of all); false after reporting a condition that has no
  /// value. The factors that they read must be chosen.
  bool settle(const std::vector<unsigned>* wanted, diag::Emitter& emitter);

  check::Environment environment(std::optional<int64_t> gpus = std::nullopt) const {
    return {values_.data(), values_.size(), gpus};
  }
  /// Null where the parameter is inactive.
  const check::Value* value(unsigned parameter) const { return values_[parameter]; }
  /// "precision=fp64 gpus=1", chosen factors only.
  std::string label() const;

 private:
  const check::Selected& selected_;
  std::vector<unsigned> levels_;             // by factor
  std::vector<const check::Value*> given_;   // by parameter, as if all were active
  std::vector<const check::Value*> values_;  // by parameter, null where inactive
};

/// The parameters that a formula depends on through `when` too, sorted.
std::vector<unsigned> closure(const check::Workload& workload, const std::vector<unsigned>& parameters);

/// Reports why a formula has no value at a point.
void reportAt(const check::Failure& failure, const check::Selected& selected, const Assignment& at,
              diag::Emitter& emitter);

}  // namespace expc::expand
