#pragma once

// Diagnostics that several files of check emit; the others stand beside their emit.

#include <string_view>

#include "compiler/diag/names.h"

namespace expc::check::errors {

EXPC_DIAGNOSTIC(TypeMismatch, Error, "{0} must be {1}, not {2}");
EXPC_DIAGNOSTIC(UnitMismatch, Error, "{0} is {1}, but {2} is {3}");
EXPC_DIAGNOSTIC(NumberTooLarge, Error, "the number {0} cannot be held exactly");
EXPC_DIAGNOSTIC(NotSupported, Error, "{0} is not supported");
EXPC_DIAGNOSTIC(NotAValue, Error, "{0} is no value here");
EXPC_DIAGNOSTIC(NotASeries, Error, "'{0}' is no series");
EXPC_DIAGNOSTIC(SeriesValue, Error, "'{0}' is a series, not one value");
EXPC_DIAGNOSTIC(OutOfRange, Error, "{0} is {1}, but must be {2}");
EXPC_DIAGNOSTIC(NoDirection, Error, "whether more of '{0}' is better is not said");
EXPC_DIAGNOSTIC(LetCycle, Error, "the {0} '{1}' depends on itself");
EXPC_DIAGNOSTIC(WrongArguments, Error, "'{0}' needs {1}, but has {2}");

/// "no argument", "one argument", "2 arguments".
std::string arguments(size_t count);

/// Emits SeriesValue: a series where one value is wanted.
diag::Refusal seriesValue(diag::Emitter& emitter, source::Range range, std::string_view name, source::Range declared);

}  // namespace expc::check::errors
