#pragma once

#include <string_view>
#include <utility>

#include "runtime/base/failure.h"
#include "runtime/base/llvm.h"

namespace expc::base {

/// An Error or Expected as it is, but with a name in front of an error: `auto file = TRY(prefixed("model",
/// open(path)));`.
template <typename Tried>
Tried prefixed(std::string_view name, Tried tried) {
  if (Error error = errorOf(tried)) return failure("{}: {}", name, std::move(error));
  return tried;
}

}  // namespace expc::base

namespace expc {
using base::prefixed;
}
