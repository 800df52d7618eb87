#pragma once

#include <llvm/ADT/StringRef.h>

#include <string>

namespace expc::workload {

/// A path as a study writes it: relative ones start at the trial's root.
std::string pathFrom(llvm::StringRef root, llvm::StringRef path);

}  // namespace expc::workload
