#pragma once

// The rows that points of `llm.finetune` read: as `expc data inspect` looks at them, and as they are checked before a
// run, so that a bad row of a validation file does not end a study after all of its timed trials.

#include <llvm/Support/JSON.h>

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/data/dataset/inspect_rows.h"
#include "runtime/plan/plan.h"

namespace expc::cli {

/// Returns the path in a level with one text, `file("rows.jsonl")`, relative to `root`; "" if the parameter has none.
std::string pathIn(const json::Object& parameters, StringRef name, const std::filesystem::path& root);
/// Returns the rows that a point of llm.finetune reads; nothing if they are made up.
std::optional<dataset::RowsSource> rowsOf(const json::Object& parameters, const std::filesystem::path& root);
/// Returns the key by which points share a set: all that decides what is read.
std::string keyOf(const json::Object& parameters);

/// The bytes of rows that are read of each file before a study is run: a plan has to be there at once, and a file may
/// have more bytes than memory.
inline constexpr uint64_t kPlannedBytes = 64 << 20;

/// Reads the rows of all points that are started (of those in `chosen`), and refuses what their trials would refuse.
/// Missing files are left to the engine. With `in_part` each file is read up to kPlannedBytes, and those that have more
/// are listed there as "FILE after row N".
Error checkRows(const Plan& plan, const std::optional<std::set<std::string>>& chosen,
                std::vector<std::string>* in_part = nullptr);

}  // namespace expc::cli
