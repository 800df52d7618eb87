#pragma once

#include "compiler/check/checker.h"

namespace expc::check {

/// The workload of a study with several: a parameter `workload` (an enum of the labels) first, then every parameter of
/// any of them, active where one that has it is chosen; the metrics that all have; rules and estimates that hold where
/// theirs is chosen. Sets Use::parameter_of. Null after reporting what does not fit together. Owned by the program.
const Workload* unite(StudyContext& context);

/// `left and right`, either of which may be null (true).
FormulaPtr both(FormulaPtr left, FormulaPtr right);

}  // namespace expc::check
