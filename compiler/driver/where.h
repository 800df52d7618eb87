#pragma once

#include <optional>
#include <set>
#include <string>

#include "compiler/diag/diagnostic.h"
#include "compiler/lower/lower.h"

namespace expc::driver {

/// The ids of a study's points at which a condition holds (`--where 'gpus > 1'`); nothing after a report.
std::optional<std::set<std::string>> pointsWhere(lower::Prepared& prepared, const std::string& condition,
                                                 diag::Emitter& emitter);

}  // namespace expc::driver
