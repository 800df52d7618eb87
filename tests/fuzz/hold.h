#pragma once

// What the fuzzers hold of whatever they read.

#include <cstdio>
#include <cstdlib>

#include "runtime/base/llvm.h"

namespace expc::fuzz {

/// Ends the process with the promise that was broken, unless `condition` holds.
inline void hold(bool condition, const char* promise) {
  if (condition) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

/// Whether there is a result; an error has to say something.
template <typename T>
bool worked(Expected<T>& result) {
  if (result) return true;
  hold(!toString(result.takeError()).empty(), "an error says something");
  return false;
}

}  // namespace expc::fuzz
