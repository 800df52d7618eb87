#pragma once

// A study under a selection, checked and looked at once. In comes a checked program with a selection; out come the
// points, the machine that runs them, and what the lints report. Plans, locks and explanations start from here.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/points/point_writer.h"
#include "compiler/points/survey.h"

namespace expc::points {

/// A study as it was selected, checked and looked at once: what plans, streams, filters and explanations start from.
struct Prepared {
  /// Null after reporting what `verify` reports for the study under this selection.
  static std::unique_ptr<Prepared> of(const check::Program& program, const check::Study& study,
                                      const select::Selection& selection, const check::System* system,
                                      diag::Emitter& emitter, uint64_t most_points = expand::kMaxPoints);
  /// Prepares every study that a selection means; studies with errors are left out.
  static std::vector<std::unique_ptr<Prepared>> all(const check::Program& program, const select::Selection& selection,
                                                    const check::System* system, diag::Emitter& emitter,
                                                    uint64_t most_points = expand::kMaxPoints);

  const check::Study& study() const { return *selected.study; }

  /// A condition over the points, as `--where` has it; null after a report.
  std::unique_ptr<expand::Condition> condition(const std::string& where, diag::Emitter& emitter) const;

  /// The JSON of one point: id, labels, parameters, and why it cannot run or will not fit, where that is so; no
  /// newline. Replaces `out`. With Space::forEach this writes any number of points without keeping one.
  void line(expand::Levels point, std::string& out);

  const check::Program& program;
  const check::System* system;  // may be null
  select::Selection selection;
  select::Selected selected;
  // Null only while they are made.
  std::unique_ptr<expand::Space> space = nullptr;
  std::unique_ptr<Machine> machine = nullptr;
  std::unique_ptr<PointWriter> writer = nullptr;
  std::optional<Survey> survey = {};
};

/// Reports all that `expc check` reports beyond check::check: the points and rules of every study (E04xx), the
/// statistics of its design and of each preset's (E05xx). With a selection, its presets and overrides are checked too
/// (E06xx). Looks at a machine only where one is given. Returns whether no error was reported.
bool verify(const check::Program& program, const select::Selection& selection, diag::Emitter& emitter,
            const check::System* system = nullptr);

}  // namespace expc::points
