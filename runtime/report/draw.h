#pragma once

// One chart as a picture, drawn by the set-up's vl-convert.

#include <llvm/Support/Error.h>

#include <string>

#include "runtime/report/html.h"

namespace expc::report {

/// Draws a chart into the file `path` as "svg", "png" or "pdf", black on white. The error says what is missing and how
/// to get it, or what the file system said; a file of that name stays as it was.
llvm::Error drawChart(const NamedChart& chart, const std::string& format, const std::string& path);

}  // namespace expc::report
