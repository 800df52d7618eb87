#pragma once

// Locks: a file beside a study that records what the study means, so that `expc run` can refuse a study that has
// changed and `expc plan --diff` can say what changed. A lock holds digests of meanings, not texts, so formatting and
// comments change nothing; the texts stand beside the digests only to be shown. `run` compares the lock with the study
// as it is now, and holds measured data to the digests of the lock.

#include <llvm/Support/JSON.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/check/check.h"
#include "compiler/diag/diagnostic.h"
#include "runtime/base/llvm.h"

namespace expc::cli {

/// Returns the path of a study's lock: "study.exp.lock".
std::string lockPath(const std::string& study_file);

/// Makes the lock of a file's studies (schema "expc.lock/3"). For each study it holds:
///   - its digest, and the design;
///   - workloads, factors, rules, metrics, comparisons, criteria and references, each as a digest of its meaning beside
///   its text;
///   - values of arguments, and those defaults that count;
///   - digests of the data that points read and of the files that commands read (null if missing on this machine);
///   - of its points the number, a digest of their ids, and how many have each level.
/// The lock describes whole studies, whatever presets and -D a run adds, and depends on neither the machine, the file's
/// location nor its formatting. Without `data` the digests of data are left out: a run computes them itself, and the
/// data may be large. Fails after reporting to `emitter`, or if a file cannot be read.
Expected<json::Value> makeLock(const check::Program& program, bool data, diag::Emitter& emitter);

/// Writes the lock to `path`, whole or not at all.
Error writeLock(const std::string& path, const json::Value& lock);
/// Reads a lock. Any other version, and any other JSON, is refused, so callers may rely on an object `studies` of
/// objects.
Expected<json::Value> readLock(const std::string& path);
/// Parses the text of a lock; errors begin with "is no lock".
Expected<json::Value> parseLock(std::string_view text);

/// Returns the digests of data that a lock records for a study, by path; data that was missing when the lock was made
/// is left out.
std::map<std::string, std::string> lockedData(const json::Value& lock, const std::string& study);

/// Describes the changes from one lock to another, one line each and at most `most` of a kind; empty if both mean the
/// same. With `study` only changes of that study.
std::vector<std::string> compareLocks(const json::Value& before, const json::Value& after, size_t most,
                                      const std::optional<std::string>& study = std::nullopt);

}  // namespace expc::cli
