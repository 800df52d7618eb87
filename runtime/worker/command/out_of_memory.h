#pragma once

#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <optional>
#include <string>

namespace expc::command {

/// How many processes the kernel has killed for want of memory since it started; absent where it does not say.
/// `text` is what /proc/vmstat holds.
std::optional<uint64_t> oomKills(llvm::StringRef text);
std::optional<uint64_t> oomKills();

/// The line in which a program says that memory ran out (of the host or a device), "" if it does not.
std::string outOfMemoryLine(llvm::StringRef output);

}  // namespace expc::command
