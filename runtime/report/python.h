#pragma once

// What is done in Python: charts as pictures, files of Parquet.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <string_view>
#include <vector>

namespace expc::report {

/// Runs `script` with the set-up's interpreter, or with that of the pip that brought expc; it reads what `feed` writes.
/// The error is what it said of its own, or `lacking` where there is no interpreter, or it ends with 3, since a package
/// is missing. It may take `seconds` after all was fed.
llvm::Error runPython(std::string_view script, const std::vector<std::string>& arguments,
                      llvm::function_ref<void(llvm::raw_ostream& in)> feed, const char* lacking,
                      unsigned seconds = 120);

}  // namespace expc::report
