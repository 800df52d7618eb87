#pragma once

// JSON text whose keys keep their order, which llvm::json forgets. A chat template writes tools and arguments as Python
// does, in the order of the file, so the tokens depend on it. Everything here takes text that a parser has accepted.

#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::text {

/// The text of a value in an object, the last one of that key; "" if the key is missing or the text is no object.
StringRef rawValue(StringRef object, StringRef key);
/// The texts of an array's elements; empty if it is none.
std::vector<StringRef> rawElements(StringRef array);

/// The value as Python's json.dumps(…, ensure_ascii=False, indent=indent) writes it; `indent` 0 stands for None.
std::string asPython(StringRef value, unsigned indent = 0);

}  // namespace expc::text
