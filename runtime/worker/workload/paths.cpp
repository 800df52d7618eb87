#include "runtime/worker/workload/paths.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

namespace expc::workload {

std::string pathFrom(llvm::StringRef root, llvm::StringRef path) {
  if (llvm::sys::path::is_absolute(path)) return path.str();
  llvm::SmallString<256> joined(root);
  llvm::sys::path::append(joined, path);
  return joined.str().str();
}

}  // namespace expc::workload
