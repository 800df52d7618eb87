#pragma once

// A first study for the output of a benchmark program.

#include <optional>
#include <string>

#include "runtime/base/llvm.h"

namespace expc::cli {

/// A study called `starter` that reads such a text, which stands in `file`, with the levels of its rows. Nothing: the
/// text is in no format that has a reader.
std::optional<std::string> starterFrom(StringRef text, const std::string& file);
/// The readers that are recognised: "nccl_tests, google_benchmark, …".
std::string readersText();

}  // namespace expc::cli
