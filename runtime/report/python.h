#pragma once

// What is done in Python: charts as pictures, files of Parquet.

#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/raw_ostream.h>

#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace expc::report {

/// A package that not every machine has, the extra of expc that brings it, and what does without.
struct Package {
  const char *name, *extra, *without;
};
/// Of an error that a package is lacking.
extern const std::error_code kLacksPackage;

/// Runs `script` with the set-up's interpreter, or with that of the pip that brought expc; it reads what `feed` writes.
/// The error is, behind `about`, what it said of its own, or that `package` is lacking where there is no interpreter,
/// or it ends with 3. It may take `seconds` after all was fed.
llvm::Error runPython(std::string_view script, const std::vector<std::string>& arguments,
                      llvm::function_ref<void(llvm::raw_ostream& in)> feed, const Package& package,
                      const std::string& about, unsigned seconds = 120);

}  // namespace expc::report
