#pragma once

#include "compiler/lower/lower.h"
#include "compiler/survey/survey.h"

namespace expc::lower {

/// Everything of a plan that does not grow with the number of points, its digest included.
Outline outlineOf(const check::Program& program, const expand::Space& space, const Survey& survey,
                  const Selection& selection, const check::System* system);

/// Hash of what a selected study means: lowered declarations and the ids of its points. Not of where they stand, how
/// they are written, in which order, or what any machine can run.
std::string digestOf(const expand::Space& space, const Survey& survey);

}  // namespace expc::lower
