#pragma once

#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>

namespace expc::text {

/// A file of at most `most` bytes, mapped. Errors (none of that name, a folder, a device, too large) name it and end
/// with `way_out`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> openFile(const std::string& path, uint64_t most,
                                                             const std::string& way_out);

}  // namespace expc::text
