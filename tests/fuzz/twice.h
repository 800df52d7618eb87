#pragma once

#include <llvm/Support/JSON.h>

#include <string>

#include "runtime/plan/json.h"
#include "tests/fuzz/hold.h"

namespace expc::fuzz {

/// Reads a value; what it makes of it is written, read and written again, and stays the same.
template <typename Read>
void readTwice(const llvm::json::Value& value, Read read) {
  auto first = read(value);
  if (!worked(first)) return;
  const std::string written = plan::canonicalJson(toJson(*first));
  auto parsed = plan::parseJson(written);
  hold(worked(parsed), "what is written is JSON");
  auto again = read(*parsed);
  hold(worked(again), "what is written is read");
  hold(plan::canonicalJson(toJson(*again)) == written, "and is the same");
}

}  // namespace expc::fuzz
