#pragma once

#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::base {

/// An argument of failure() as it is formatted: an error as its message.
template <typename Arg>
using Shown = std::conditional_t<std::is_same_v<Arg, Error>, std::string, Arg>;
template <typename Arg>
Arg&& shown(Arg&& arg) {
  return std::forward<Arg>(arg);
}
inline std::string shown(Error&& error) { return toString(std::move(error)); }

/// An error with a formatted message. The message is for the user: it names the file or value and what to do. An
/// argument may be an error itself, whose message it stands for.
template <typename... Args>
Error failure(fmt::format_string<Shown<Args>...> text, Args&&... args) {
  return llvm::createStringError(fmt::format(text, shown(std::forward<Args>(args))...));
}

/// An Error or Expected as it is, but with a name in front of an error: `auto file = TRY(prefixed("model",
/// open(path)));`.
template <typename Tried>
Tried prefixed(std::string_view name, Tried tried) {
  if (Error error = errorOf(tried)) return failure("{}: {}", name, std::move(error));
  return tried;
}

}  // namespace expc::base

namespace expc {
using base::failure, base::prefixed;
}
