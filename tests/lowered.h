#pragma once

// For tests: a file's studies as plans, in one call.

#include <cassert>
#include <optional>
#include <vector>

#include "compiler/lower/lower.h"

namespace expc::lower {

/// The plans of all studies of the file, or of the selected one; empty after an error. Reports what `verify` reports
/// for them, with the effective design and the system. `program` must come from a check without errors.
inline std::vector<plan::Plan> compileAll(const check::Program& program, const expand::Selection& selection,
                                          const check::System* system, diag::Emitter& emitter) {
  std::vector<plan::Plan> plans;
  const size_t before = emitter.errors();
  for (const auto& prepared : points::Prepared::all(program, selection, system, emitter))
    if (auto plan = planOf(*prepared, emitter)) plans.push_back(std::move(*plan));
  if (emitter.errors() != before) plans.clear();
  return plans;
}

/// The plan of one study, which must be named where the file has several; nothing after an error.
inline std::optional<plan::Plan> compile(const check::Program& program, const expand::Selection& selection,
                                         const check::System* system, diag::Emitter& emitter) {
  std::vector<plan::Plan> plans = compileAll(program, selection, system, emitter);
  assert(plans.size() <= 1 && "name one of the studies");
  return plans.empty() ? std::nullopt : std::optional(std::move(plans[0]));
}

}  // namespace expc::lower
