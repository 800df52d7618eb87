#pragma once

// The words of LLVM that the project uses as its own, and TRY, which hands an error to the caller.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/STLFunctionalExtras.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <utility>

namespace llvm::json {}

namespace expc {

using llvm::ArrayRef;
using llvm::cantFail;
using llvm::consumeError;
using llvm::Error;
using llvm::Expected;
using llvm::expectedToOptional;
using llvm::function_ref;
using llvm::is_contained;
using llvm::StringRef;
using llvm::toString;
namespace json = llvm::json;

namespace base {

/// The error of a result that was tried; success if it has none.
inline Error errorOf(Error& tried) { return std::move(tried); }
template <typename T>
Error errorOf(Expected<T>& tried) {
  return tried.takeError();
}

/// The value of a result without an error.
inline void unwrapped(Error&) {}
template <typename T>
T unwrapped(Expected<T>& tried) {
  return std::move(*tried);
}

}  // namespace base
}  // namespace expc

/// Returns the error of an Error or Expected from the function around it; else is the value: `auto file =
/// TRY(open());`. A statement expression of GCC and clang. It stands alone, after `=` or after `return`: what else a
/// longer expression has made by then would depend on the order of evaluation.
#define TRY(...)                                                  \
  ({                                                              \
    auto tried_ = __VA_ARGS__;                                    \
    if (auto error_ = expc::base::errorOf(tried_)) return error_; \
    expc::base::unwrapped(tried_);                                \
  })
