#pragma once
// fmt, taught LLVM's texts. Version 9 (Debian 12) converts a StringRef silently and version 10 (Debian 13) refuses it,
// so everything includes fmt through here: what compiles on one of them compiles on the other.

#include <fmt/format.h>
#include <llvm/ADT/StringRef.h>

/// Formats a StringRef as the text that it refers to.
template <>
struct fmt::formatter<llvm::StringRef> : fmt::formatter<fmt::string_view> {
  template <typename Context>
  auto format(llvm::StringRef text, Context& context) const {
    return fmt::formatter<fmt::string_view>::format(fmt::string_view(text.data(), text.size()), context);
  }
};
