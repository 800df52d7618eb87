#pragma once

// `expc store`: verify, compact, merge and export a results folder.

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::store {

/// The result of reading every line of the journals.
struct Verified {
  uint64_t journals = 0, sessions = 0, runs = 0, blocks = 0, trials = 0;
  std::vector<std::string> damage = {};  // one text for each: what is lost, and where
  std::vector<std::string> notes = {};   // lines that do not count but are no damage: a kill cut them
};

/// Reads every line of the journals. Writes nothing. Error: there is no store, or it cannot be read.
Expected<Verified> verify(const std::string& folder);

/// Writes everything that the store holds now as an SQLite file (docs/export.md), which must not exist yet. Safe
/// beside a live run.
Error exportSql(const std::string& folder, const std::string& file, std::vector<std::string>& messages);

/// Sizes before and after a compaction.
struct Compacted {
  uint64_t journals = 0;                       // number of journals before
  uint64_t bytes_before = 0, bytes_after = 0;  // of all journals
};

/// Rewrites all journals as one. Refused if a line is damaged or a journal is missing, because what it held would
/// be gone for good. `messages` as for Store::openForWriting.
Expected<Compacted> compact(const std::string& folder, std::vector<std::string>& messages);

/// Numbers of records that a merge took over.
struct Merged {
  uint64_t sessions = 0, runs = 0, blocks = 0, trials = 0;  // taken over
  uint64_t known = 0;                                       // trials that were taken over earlier
};

/// Takes over what `other` holds and `folder` does not. Left out: trials that have not ended, and everything of a
/// run that is still at work there. Doing it again adds only what is new. If an output cannot be copied, nothing is
/// taken over. Refused for a copy of the same store, because what both measured since then cannot be told apart.
Expected<Merged> merge(const std::string& folder, const std::string& other, std::vector<std::string>& messages);

}  // namespace expc::store
