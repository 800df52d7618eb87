#pragma once

#include <llvm/Support/Error.h>

#include <utility>

#include "runtime/base/format.h"

namespace expc::base {

/// An error with a formatted message. The message is for the user: it names the file or value and what to do.
template <typename... Args>
llvm::Error failure(fmt::format_string<Args...> text, Args&&... args) {
  return llvm::createStringError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace expc::base
