#pragma once

// Entries of journals and what they hold as JSON, without the line around them. Private to this directory.

#include "runtime/plan/json_record.h"
#include "runtime/store/entry.h"

namespace expc::store {

llvm::json::Object writeEntry(const Entry& entry);
/// What is wrong is noted in `io`.
Entry readEntry(plan::JsonRecord& io);

void describe(plan::JsonRecord& io, Worker& worker);
void describe(plan::JsonRecord& io, Match& match);
void describe(plan::JsonRecord& io, Judged& judged);
llvm::json::Array toJson(const std::vector<plan::Place>& places);

}  // namespace expc::store
