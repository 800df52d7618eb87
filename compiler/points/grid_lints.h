#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/expand/walk.h"

namespace expc::points {

/// Name of a rule for people: its own, or "line 12".
std::string ruleName(const check::Rule& rule, const source::SourceManager& sources);

/// At how many points each level occurs.
class Seen {
 public:
  explicit Seen(const expand::Space& space);
  void add(expand::Levels levels) {
    for (size_t factor = 0; factor < levels.size(); ++factor)
      if (levels[factor] != expand::kAbsent) ++counts_[factor][levels[factor]];
  }
  uint64_t count(unsigned factor, unsigned level) const { return counts_[factor][level]; }

 private:
  std::vector<std::vector<uint64_t>> counts_;  // by factor and level
};

/// Reports that a study has more points than `most`, or that looking for them was given up (E0404).
void reportTooMany(const check::Study& study, uint64_t most, bool exhausted, diag::Emitter& emitter);

/// Notes at the rules to blame for a selection without any point, and at the `when`s that they depend on.
void noteConflict(diag::Builder& builder, const expand::Space& space, const std::vector<unsigned>& rules);

/// Reports on the whole study: no point at all, with a smallest set of rules to blame (E0401).
void lintEmpty(const expand::Space& whole, diag::Emitter& emitter);
/// Values that are given and are active at no point (W0415): arguments of the whole study, or what presets and -D make
/// of a selection.
void lintIdle(const expand::Space& space, const Seen& seen, const std::vector<std::pair<unsigned, unsigned>>& idle,
              bool whole, diag::Emitter& emitter);
/// A rule that removes nothing (W0402); a level that never occurs (W0403).
void lintGrid(const expand::Space& whole, const Seen& seen, diag::Emitter& emitter);

}  // namespace expc::points
