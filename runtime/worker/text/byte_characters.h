#pragma once

#include <llvm/ADT/StringRef.h>

#include <optional>
#include <string>

namespace expc::text {

/// The bytes that GPT-2's table of printable characters stands for ("Ġthe" is " the"); nothing if another character is
/// among them. `text` must be valid UTF-8.
std::optional<std::string> bytesOfCharacters(llvm::StringRef text);

}  // namespace expc::text
