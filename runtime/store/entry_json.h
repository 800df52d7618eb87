#pragma once

// Entries of journals as JSON, without the line around them. Private to this directory.

#include "runtime/plan/json_record.h"
#include "runtime/store/entry.h"

namespace expc::store {

llvm::json::Object writeEntry(const Entry& entry);
/// What is wrong is noted in `io`.
Entry readEntry(plan::JsonRecord& io);

}  // namespace expc::store
