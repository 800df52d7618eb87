#pragma once

#include <llvm/Support/Error.h>

#include <string>
#include <type_traits>
#include <utility>

#include "runtime/base/format.h"

namespace expc::base {

/// An argument of failure() as it is formatted: an error as its message.
template <typename Arg>
using Shown = std::conditional_t<std::is_same_v<Arg, llvm::Error>, std::string, Arg>;
template <typename Arg>
Arg&& shown(Arg&& arg) {
  return std::forward<Arg>(arg);
}
inline std::string shown(llvm::Error&& error) { return llvm::toString(std::move(error)); }

/// An error with a formatted message. The message is for the user: it names the file or value and what to do. An
/// argument may be an error itself, whose message it stands for.
template <typename... Args>
llvm::Error failure(fmt::format_string<Shown<Args>...> text, Args&&... args) {
  return llvm::createStringError(fmt::format(text, shown(std::forward<Args>(args))...));
}

}  // namespace expc::base
