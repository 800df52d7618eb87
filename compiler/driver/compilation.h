#pragma once

#include <optional>
#include <vector>

#include "compiler/diag/diagnostic.h"
#include "compiler/driver/commands.h"
#include "compiler/lower/lower.h"
#include "compiler/source/source.h"
#include "runtime/plan/plan.h"

namespace expc::driver {

/// Everything that one invocation compiles, with what was said on the way.
struct Compilation {
  source::SourceManager sources;
  diag::Collector diagnostics;
  std::vector<plan::Plan> plans;  // only those without an error
  bool failed = false;
};

/// Reads and compiles the studies that `options` selects. Without `facts` it checks only, and makes no plan: it never
/// looks at the machine. A root file that cannot be read is said on `console`.
void compile(const StudyOptions& options, const std::optional<lower::SystemFacts>& facts,
             const check::FileSystem& files, const Console& console, Compilation& compilation);

/// Diagnostics by position, each once: as text on standard error, with a closing count.
void showDiagnostics(const Compilation& compilation, const Console& console);

/// The plans of a study file (compiled for this machine's slots) or of a plan file; nothing after saying why.
std::optional<std::vector<plan::Plan>> loadPlans(const StudyOptions& options, const std::string& devices,
                                                 const Console& console);

}  // namespace expc::driver
