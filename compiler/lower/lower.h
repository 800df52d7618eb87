#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/diag/diagnostic.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// More points than this are not written into one plan; looking at them one by one (prepared.h) has no such limit.
inline constexpr uint64_t kMaxPlanPoints = 1'000'000;

/// What the command line picks.
struct Selection {
  std::optional<std::string> study;    // needed where the file has several
  std::vector<std::string> presets;    // applied in order
  std::vector<std::string> overrides;  // "-D" texts, after the presets
};

/// All that `expc check` reports beyond check::check: the points and rules of every study (E04xx), the statistics of
/// its design and of each preset's (E05xx). With a selection, its presets and overrides are checked too (E06xx). Looks
/// at a machine only where one is given. Returns whether no error was reported.
bool verify(const check::Program& program, const Selection& selection, diag::Emitter& emitter,
            const check::System* system = nullptr);

/// A plan without what grows with the number of points.
struct Outline {
  plan::Plan head;  // points empty; comparisons and criteria without cells
  uint64_t points = 0, available = 0, expected_infeasible = 0;
  std::vector<uint64_t> comparison_cells, criterion_cells;
};

/// The plan of one study: the selected one, which must be named where the file has several. Reports what `verify`
/// reports for it, with the effective design and the system; nothing after an error. `program` must come from a check
/// without errors. Plan::root is the absolute folder of the root file. Without a system no point is marked.
std::optional<plan::Plan> compile(const check::Program& program, const Selection& selection,
                                  const check::System* system, diag::Emitter& emitter);

/// The plans of all studies of the file, or of the selected one; empty after an error.
std::vector<plan::Plan> compileAll(const check::Program& program, const Selection& selection,
                                   const check::System* system, diag::Emitter& emitter);

}  // namespace expc::lower
