#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/lower/lower.h"
#include "compiler/survey/survey.h"

namespace expc::lower {

/// A study as it was selected, checked and looked at once: what plans, streams, filters and explanations start from.
class Prepared {
 public:
  /// Null after reporting what `verify` reports for the study under this selection.
  static std::unique_ptr<Prepared> of(const check::Program& program, const check::Study& study,
                                      const Selection& selection, const check::System* system, diag::Emitter& emitter);

  const check::Program& program() const { return program_; }
  const check::Study& study() const { return *selected_.study; }
  const check::Selected& selected() const { return selected_; }
  const expand::Space& space() const { return *space_; }
  Machine& machine() { return *machine_; }
  PointWriter& writer() { return *writer_; }
  const Survey& survey() const { return *survey_; }
  const Outline& outline() const { return outline_; }

  /// The JSON of one point: id, labels, parameters, and why it cannot run or will not fit, where that is so; no
  /// newline. Replaces `out`. With space().forEach this writes any number of points without keeping one.
  void line(expand::Levels point, std::string& out);

 private:
  friend class Preparer;
  explicit Prepared(const check::Program& program) : program_(program) {}

  const check::Program& program_;
  check::Selected selected_;
  std::unique_ptr<expand::Space> space_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<PointWriter> writer_;
  std::optional<Survey> survey_;
  Outline outline_;
};

/// The whole plan of a prepared study; nothing after reporting that it has more points than kMaxPlanPoints (E0404).
std::optional<plan::Plan> planOf(Prepared& prepared, diag::Emitter& emitter);

/// The studies that a selection means; empty after a report.
std::vector<const check::Study*> chosenStudies(const check::Program& program, const Selection& selection,
                                               diag::Emitter& emitter);

/// Applies the presets and overrides of a selection; nothing after a report.
std::optional<check::Selected> select(const check::Program& program, const check::Study& study,
                                      const Selection& selection, diag::Emitter& emitter);

/// "preset quick, -D gpus=2"
std::string describe(const Selection& selection);

/// Only what `verify` says of one study.
void verifyStudy(const check::Program& program, const check::Study& study, const Selection& selection,
                 const check::System* system, diag::Emitter& emitter);

}  // namespace expc::lower
