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

/// The lints of one selected study: what they look at, and where they report.
struct Lints {
  const Space& space;
  const Survey& survey;
  /// The selection in messages, "preset quick"; "" for the whole study.
  std::string selection;
  Reported& reported;
  const source::SourceManager& sources;
  diag::Emitter& emitter;
  const check::Study& study = space.study();
  const expand::Selected& selected = space.selected();

  /// Reports that the whole study (E0401), or a selection of it made at `range` (E0603), has no point, with a
  /// minimal set of rules to blame.
  void empty(source::Range range) const;
  /// Reports values that are given to parameters that are active at no point (W0415): arguments of the whole
  /// study, or what presets and `-D` change in a selection.
  void idle() const;
  /// Reports a learning rate or the like of 0 in a workload that this build trains (W0416): arguments and levels
  /// of the whole study, or what presets and `-D` change in a selection.
  void nothingLearned() const;
  /// Reports a rule that removes nothing (W0402) and levels that never occur (W0403).
  void grid() const;

  /// For the whole study: comparisons without partners (E0405), or with several baselines for one point (E0408).
  void pairs() const;

  /// For a study without errors: comparisons in which some points lack partners without `partial` (W0406).
  /// Points that a rule of the workload removes affect all comparisons alike, so they are reported at the first
  /// one only.
  void somePairs() const;

  /// For the whole study: criteria that ask about no point (E0407).
  void criteria() const;

  /// For the whole study: controls that name no point or several (E0409).
  void controls() const;

  /// Reports two points that mean the same (E0410): two uses of a workload with equal parameters, or tuples of a
  /// lockstep factor that differ only in an inactive parameter.
  void samePoints() const;

  /// For the whole study: `like` criteria for some of whose cells (W0411) or all (E0412) nothing is published.
  void published() const;

  /// For an effective design: criteria that can never pass (E0501) or never fail (W0502), repetitions that can
  /// never end (E0503), a budget that no run can keep (E0504).
  void design() const;

  /// For a system: criteria all of whose points are expected to run out of memory (E0413).
  void infeasible(const check::System& system) const;

  // Steps of these.
  void levels(unsigned factor) const;
  void noteConflict(diag::Builder& builder, const std::vector<unsigned>& rules) const;
  void noteReasons(diag::Builder& builder, const Survey::OfComparison& of) const;
  void several(const check::Comparison& comparison, const Survey::OfComparison& of) const;
  void absent(const check::Criterion& criterion, const check::Assertion& assertion,
              const Survey::OfAssertion& of) const;
  void joined(const check::Criterion& criterion, const JoinedClaim& joined) const;
  void repetitions(const check::Criterion& criterion, const Survey::OfCriterion& counts) const;
  void looks(const check::Design::Kind& kind, const check::Criterion& criterion, const Survey::OfCriterion& counts,
             unsigned of) const;
  void until() const;
  void budget() const;
};

}  // namespace expc::points
