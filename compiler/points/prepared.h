#pragma once

// A study under a selection, checked and walked once. In comes a checked program with a selection; out come the
// points, the machine that runs them, and what the lints report. Plans, locks and explanations start from here.
//
// Each study is looked at in several ways: as a whole, with each of its presets alone, and as it was asked for.
// A mistake in the whole study is reported even if the selection hides it.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/points/point_writer.h"
#include "compiler/points/survey.h"

namespace expc::points {

/// A study under one selection, with everything that later phases ask of it. Not copyable: its parts refer to
/// each other.
struct Prepared {
  /// Null after an error of the whole study, of the selection, or of a preset in it. `most_points` limits the
  /// selection. `system` may be null: then no point is unavailable.
  static std::unique_ptr<Prepared> of(const check::Program& program, const check::Study& study,
                                      const expand::Selection& selection, const check::System* system,
                                      diag::Emitter& emitter, uint64_t most_points = expand::kMaxPoints);
  /// Prepares every study that a selection names; studies with errors are left out.
  static std::vector<std::unique_ptr<Prepared>> all(const check::Program& program, const expand::Selection& selection,
                                                    const check::System* system, diag::Emitter& emitter,
                                                    uint64_t most_points = expand::kMaxPoints);

  const check::Study& study() const { return *selected.study; }

  /// Compiles a condition over the points, as `--where` has it; null after a report.
  std::unique_ptr<expand::Condition> condition(const std::string& where, diag::Emitter& emitter) const;

  /// Writes one point as a JSON object without a newline into `out`: id, labels, parameters, and why it cannot
  /// run or is expected not to fit. With Space::forEach this writes any number of points without keeping one.
  void line(Levels point, std::string& out);

  const check::Program& program;
  /// The machine that the study is prepared for; may be null.
  const check::System* system;
  expand::Selection selection;
  expand::Selected selected;
  // Null only while they are built, in this order: each one uses those before it.
  std::unique_ptr<Space> space = nullptr;
  std::unique_ptr<Machine> machine = nullptr;
  std::unique_ptr<PointWriter> writer = nullptr;
  std::optional<Survey> survey = {};
};

/// Reports everything that `expc check` reports beyond check::check: points and rules of every study (E04xx),
/// and the statistics of its design and of each preset's (E05xx). The selection's presets and overrides are
/// checked too (E06xx). Uses a machine only if one is given. Returns whether no error was reported.
bool verify(const check::Program& program, const expand::Selection& selection, diag::Emitter& emitter,
            const check::System* system = nullptr);

}  // namespace expc::points
