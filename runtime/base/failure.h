#pragma once

#include <fmt/format.h>
#include <llvm/Support/Error.h>

#include <utility>

namespace expc::base {

/// An error that has this text as its message.
template <typename... Args>
llvm::Error failure(fmt::format_string<Args...> text, Args&&... args) {
  return llvm::createStringError(fmt::format(text, std::forward<Args>(args)...));
}

}  // namespace expc::base
