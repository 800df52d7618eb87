#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/points/survey.h"

namespace expc::points {

/// A study as it was selected, checked and looked at once: what plans, streams, filters and explanations start from.
class Prepared {
 public:
  /// Null after reporting what `verify` reports for the study under this selection.
  static std::unique_ptr<Prepared> of(const check::Program& program, const check::Study& study,
                                      const select::Selection& selection, const check::System* system,
                                      diag::Emitter& emitter);
  /// The same of every study that a selection means; those with errors are left out.
  static std::vector<std::unique_ptr<Prepared>> all(const check::Program& program, const select::Selection& selection,
                                                    const check::System* system, diag::Emitter& emitter);

  const check::Program& program() const { return program_; }
  const check::Study& study() const { return *selected_.study; }
  const check::System* system() const { return system_; }
  const select::Selection& selection() const { return selection_; }
  const select::Selected& selected() const { return selected_; }
  const expand::Space& space() const { return *space_; }
  Machine& machine() { return *machine_; }
  PointWriter& writer() { return *writer_; }
  const Survey& survey() const { return *survey_; }

  /// A condition over the points, as `--where` has it; null after a report.
  std::unique_ptr<expand::Condition> condition(const std::string& where, diag::Emitter& emitter) const;

  /// The JSON of one point: id, labels, parameters, and why it cannot run or will not fit, where that is so; no
  /// newline. Replaces `out`. With space().forEach this writes any number of points without keeping one.
  void line(expand::Levels point, std::string& out);

 private:
  friend struct Preparer;
  Prepared(const check::Program& program, const check::System* system, select::Selection selection,
           select::Selected selected)
      : program_(program), system_(system), selection_(std::move(selection)), selected_(std::move(selected)) {}

  const check::Program& program_;
  const check::System* system_;  // may be null
  select::Selection selection_;
  select::Selected selected_;
  std::unique_ptr<expand::Space> space_;
  std::unique_ptr<Machine> machine_;
  std::unique_ptr<PointWriter> writer_;
  std::optional<Survey> survey_;
};

/// All that `expc check` reports beyond check::check: the points and rules of every study (E04xx), the statistics of
/// its design and of each preset's (E05xx). With a selection, its presets and overrides are checked too (E06xx). Looks
/// at a machine only where one is given. Returns whether no error was reported.
bool verify(const check::Program& program, const select::Selection& selection, diag::Emitter& emitter,
            const check::System* system = nullptr);

}  // namespace expc::points
