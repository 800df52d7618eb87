#pragma once

// Work for Python: charts as pictures, and Parquet files. The packages for it are optional, so an error says how to get
// them and what does without. Scripts are part of the binary and get their input by a pipe, so nothing is written
// beside the result.

#include <llvm/Support/raw_ostream.h>

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/report/chart.h"

namespace expc::exports {

/// An optional package: its name, the extra of expc that installs it, and what works without it.
struct Package {
  const char *name, *extra, *without;
};
/// The code of errors that say that a package is missing.
extern const std::error_code kLacksPackage;

/// Runs `script` with the interpreter of the set-up, or of the pip that installed expc; the script reads what `feed`
/// writes. The error begins with `about` and says what the script printed last, or that `package` is missing: there is
/// no interpreter, or the script exited with 3. The script gets `seconds` after all input was fed.
Error runPython(std::string_view script, const std::vector<std::string>& arguments,
                function_ref<void(llvm::raw_ostream& in)> feed, const Package& package, const std::string& about,
                unsigned seconds = 120);

/// Draws a chart into the file `path` as "svg", "png" or "pdf", black on white, by Python with vl-convert. The error
/// says what is missing and how to get it, or what the file system said; an existing file stays as it was.
Error drawChart(const report::Chart& chart, const std::string& format, const std::string& path);

namespace assets {
std::string_view drawScript(), parquetScript(), parquetTextsScript();  // assets/draw_chart.py and so on
}

}  // namespace expc::exports
