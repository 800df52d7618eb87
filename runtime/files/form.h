#pragma once

// Files that are something else than was wanted.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/MemoryBuffer.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace expc::files {

/// What a file is by its first bytes, and the way to what was wanted; "" of text in UTF-8 and of all that is not known.
std::string_view formOf(llvm::StringRef bytes);

/// files::map() of what should be text. Where there is no such file the error ends with `way_out`.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> mapText(const std::string& path, uint64_t most,
                                                            llvm::StringRef way_out);

}  // namespace expc::files
