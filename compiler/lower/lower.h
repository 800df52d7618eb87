#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/diag/diagnostic.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// What the command line picks.
struct Selection {
  std::optional<std::string> study;    // needed where the file has several
  std::vector<std::string> presets;    // applied in order
  std::vector<std::string> overrides;  // "-D" texts, after the presets
};

/// What rules may ask about the machine. Nothing: rules with `system` mark no point.
struct SystemFacts {
  std::optional<int> gpus;
};

/// All that `expc check` reports beyond check::check: the grid and rules of every study (E04xx), the statistics of its
/// design and of each preset's (E05xx). With a selection, its presets and overrides are checked too (E06xx). Never
/// looks at the machine. Returns whether no error was reported.
bool verify(const check::Program& program, const Selection& selection, diag::Emitter& emitter);

/// Builds the plan of one study: the selected one, which must be named where the file has several. Reports what
/// `verify` reports for it, with the effective design; nothing after an error. `program` must come from a check without
/// errors. Plan::root is the absolute folder of the root file.
std::optional<plan::Plan> compile(const check::Program& program, const Selection& selection, const SystemFacts& facts,
                                  diag::Emitter& emitter);

/// The plans of all studies of the file, or of the selected one; empty after an error.
std::vector<plan::Plan> compileAll(const check::Program& program, const Selection& selection, const SystemFacts& facts,
                                   diag::Emitter& emitter);

}  // namespace expc::lower
