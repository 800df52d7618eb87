#pragma once

// `expc store`: what is done to a results folder beside measuring.

#include <llvm/Support/Error.h>

#include <cstdint>
#include <string>
#include <vector>

namespace expc::store {

/// What a look at every line of the journals found.
struct Verified {
  uint64_t journals = 0, sessions = 0, runs = 0, blocks = 0, trials = 0;
  std::vector<std::string> damage = {};  // a line each: what is lost, and where
  std::vector<std::string> notes = {};   // what was left out and does not count: a line that a killed writer cut
};

/// Reads every line of the journals. Writes nothing. Error: there is no store, or it cannot be read.
llvm::Expected<Verified> verify(const std::string& folder);

/// Writes what the store holds now as an SQLite file (docs/export.md), which must not exist. Beside a live run too.
llvm::Error exportSql(const std::string& folder, const std::string& file, std::vector<std::string>& messages);

struct Compacted {
  uint64_t journals = 0;                       // that there were
  uint64_t bytes_before = 0, bytes_after = 0;  // of all journals
};

/// Makes one journal of all. Refused where a line is damaged or a journal is missing: what it held would be gone for
/// good. `messages` as for Store::openForWriting.
llvm::Expected<Compacted> compact(const std::string& folder, std::vector<std::string>& messages);

struct Merged {
  uint64_t sessions = 0, runs = 0, blocks = 0, trials = 0;  // taken over
  uint64_t known = 0;                                       // trials that were taken over before
};

/// Takes over what `other` holds and `folder` does not; trials that have not ended are left, and all of a run that is
/// at work there. Doing it again adds only what is new. An output that cannot be
/// taken along is an error, and then nothing is taken over. Refused for a copy of the same store that both went on
/// with.
llvm::Expected<Merged> merge(const std::string& folder, const std::string& other, std::vector<std::string>& messages);

}  // namespace expc::store
