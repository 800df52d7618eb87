#pragma once

// Entries of journals as JSON, without the line around them. Private to this directory.

#include <llvm/Support/JSON.h>

#include "runtime/plan/json.h"
#include "runtime/store/entry.h"

namespace expc::store {

llvm::json::Object writeEntry(const Entry& entry);
/// What is wrong with the fields is noted in them.
Entry readEntry(plan::JsonFields& in);

}  // namespace expc::store
