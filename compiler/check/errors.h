#pragma once

// Diagnostics that several files of check emit; the others stand beside their emit.

#include <string>
#include <string_view>
#include <vector>

#include "compiler/diag/diagnostic.h"

namespace expc::check::errors {

EXPC_DIAGNOSTIC(UnknownName, Error, "unknown {0} '{1}'{2}", std::string_view, std::string, std::string_view);
EXPC_DIAGNOSTIC(DuplicateName, Error, "the {0} '{1}' is declared twice", std::string_view, std::string_view);
EXPC_DIAGNOSTIC(TypeMismatch, Error, "{0} must be {1}, not {2}", std::string_view, std::string_view, std::string_view);
EXPC_DIAGNOSTIC(UnitMismatch, Error, "{0} is {1}, but {2} is {3}", std::string_view, std::string_view, std::string_view,
                std::string_view);
EXPC_DIAGNOSTIC(NumberTooLarge, Error, "the number {0} cannot be held exactly", std::string_view);
EXPC_DIAGNOSTIC(NotSupported, Error, "{0} is not supported", std::string_view);
EXPC_DIAGNOSTIC(SeriesValue, Error, "'{0}' is a series, not one value", std::string_view);
EXPC_DIAGNOSTIC(OutOfRange, Error, "{0} is {1}, outside {2}", std::string_view, std::string_view, std::string_view);

/// Emits UnknownName with the nearest candidate as a note and a fix-it, or else the list of candidates if it is short.
/// `of` says whose name it is: " of the design".
void unknownName(diag::Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                 const std::vector<std::string>& candidates, std::string_view of = "");
/// Emits DuplicateName with a note at the first one.
void duplicateName(diag::Emitter& emitter, source::Range range, std::string_view what, std::string_view name,
                   source::Range first);

/// Emits SeriesValue: a series where one value is wanted.
void seriesValue(diag::Emitter& emitter, source::Range range, std::string_view name, source::Range declared);

/// "a, b and c", or "" for none.
std::string list(const std::vector<std::string>& names, std::string_view last = "and");

}  // namespace expc::check::errors
