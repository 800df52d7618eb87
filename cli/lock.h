#pragma once

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/diag/diagnostic.h"

namespace expc::cli {

/// "study.exp.lock"
std::string lockPath(const std::string& study_file);

/// What the studies of a file mean ("expc.lock/3"): for each its digest, workloads, factors, rules, metrics,
/// comparisons, criteria and references, each as a digest of what it means beside its text, the values of arguments and
/// of the defaults that count, the design, the digests of the data that points read (null where it is not there), and
/// of the points their number, a digest of their ids and how many have each level. Of the whole studies, whatever
/// presets and -D a run adds; nothing in it depends on a machine, on where the file lies or on how it is formatted.
/// Nothing after a report or an error. Without `data` its digests are left out: a run makes them itself, and it may be
/// large.
llvm::Expected<llvm::json::Value> makeLock(const check::Program& program, bool data, diag::Emitter& emitter);

/// Writes it beside the study, whole or not at all.
llvm::Error writeLock(const std::string& path, const llvm::json::Value& lock);
/// The lock in a file. What is no lock of this version is refused, however it came there.
llvm::Expected<llvm::json::Value> readLock(const std::string& path);
/// The same of its text; errors begin with "is no lock".
llvm::Expected<llvm::json::Value> parseLock(std::string_view text);

/// The digests of data that a lock holds for a study, by path; those that were not there are left out.
std::map<std::string, std::string> lockedData(const llvm::json::Value& lock, const std::string& study);

/// What changed from one lock to another, a line each, at most `most` of a kind; empty if they mean the same. With
/// `study` only what concerns that one.
std::vector<std::string> compareLocks(const llvm::json::Value& before, const llvm::json::Value& after, size_t most,
                                      const std::optional<std::string>& study = std::nullopt);

}  // namespace expc::cli
