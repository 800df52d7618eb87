#pragma once

// Lints of a selected study: spaces and surveys come in, diagnostics (W04xx, E04xx, E05xx) go out. Mistakes
// that need no points are found by check; prepared.cpp decides which lints run on which selection.

#include <set>
#include <string>
#include <tuple>

#include "compiler/points/survey.h"

namespace expc::points {

/// Remembers reports over several selections, so that each kind is reported once for a criterion and the
/// setting that it blames: presets inherit most of a design.
class Reported {
 public:
  /// Whether this is the first report of its kind; records it.
  bool fresh(diag::Kind kind, const check::Criterion* criterion, source::Range setting) {
    return seen_.emplace(kind, criterion, setting.file.index, setting.begin).second;
  }

 private:
  std::set<std::tuple<diag::Kind, const check::Criterion*, uint32_t, uint32_t>> seen_;
};

/// Reports that the whole study (E0401), or a `selection` of it made at `range` (E0603), has no point, with a
/// minimal set of rules to blame.
void lintEmpty(const expand::Space& space, const std::string& selection, source::Range range, diag::Emitter& emitter);
/// Reports values that are given to parameters that are active at no point (W0415): arguments of the whole
/// study, or what presets and `-D` change in a selection.
void lintIdle(const expand::Space& space, const Survey& survey, bool whole, diag::Emitter& emitter);
/// Reports a learning rate or the like of 0 in a workload that this build trains (W0416): arguments and levels
/// of the whole study, or what presets and `-D` change in a selection.
void lintNothingLearned(const expand::Space& space, bool whole, diag::Emitter& emitter);
/// Reports a rule that removes nothing (W0402) and levels that never occur (W0403).
void lintGrid(const expand::Space& whole, const Seen& seen, diag::Emitter& emitter);

/// For the whole study: comparisons without partners (E0405), or with several baselines for one point (E0408).
void lintPairs(const expand::Space& whole, const Survey& survey, const source::SourceManager& sources,
               diag::Emitter& emitter);

/// For a study without errors: comparisons in which some points lack partners without `partial` (W0406).
/// Points that a rule of the workload removes affect all comparisons alike, so they are reported at the first
/// one only.
void lintSomePairs(const expand::Space& whole, const Survey& survey, const source::SourceManager& sources,
                   diag::Emitter& emitter);

/// For the whole study: criteria that ask about no point (E0407).
void lintCriteria(const expand::Space& whole, const Survey& survey, diag::Emitter& emitter);

/// For the whole study: controls that name no point or several (E0409).
void lintControls(const expand::Space& whole, diag::Emitter& emitter);

/// Reports two points that mean the same (E0410): two uses of a workload with equal parameters, or tuples of a
/// lockstep factor that differ only in an inactive parameter.
void lintSamePoints(const expand::Space& whole, diag::Emitter& emitter);

/// For the whole study: `like` criteria for some of whose cells (W0411) or all (E0412) nothing is published.
void lintPublished(const expand::Space& whole, const Survey& survey, diag::Emitter& emitter);

/// For an effective design: criteria that can never pass (E0501) or never fail (W0502), repetitions that can
/// never end (E0503), a budget that no run can keep (E0504). `selection` names it in messages ("preset quick";
/// "" for the study).
void lintDesign(const expand::Space& space, const Survey& survey, const std::string& selection, Reported& reported,
                diag::Emitter& emitter);

/// For a system: criteria all of whose points are expected to run out of memory (E0413).
void lintInfeasible(const expand::Space& space, const Survey& survey, const check::System& system, Reported& reported,
                    diag::Emitter& emitter);

}  // namespace expc::points
