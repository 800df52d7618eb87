#pragma once

// The entries of a journal, each one line of JSON: what became known, in the order in which it did. How they form
// records is left to contents.cpp.

#include <llvm/Support/JSON.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/base/llvm.h"
#include "runtime/store/records.h"

namespace expc::base {
class JsonRecord;
}

namespace expc::store {

/// Raised when an older expc would misread a line; older versions are still read.
inline constexpr int kJournalVersion = 3;

/// The first line of each journal. It seals the earlier ones: bytes of a journal beyond what `sealed` says were
/// written by a process that had lost the lease, and do not count.
struct Opened {
  uint64_t epoch = 0;                      // of the journal: larger than every earlier one's
  std::string store;                       // the store's name, equal in all journals of a folder
  std::map<std::string, uint64_t> sealed;  // bytes that count, by journal
  std::set<std::string> replaced;          // journals whose whole content this one holds (compaction)
};
/// A sign of life of a session.
struct Seen {
  int64_t session = 0;
  Moment at;
};
/// A plan's text, which runs name by its hash, so that a large plan is kept once.
struct PlanText {
  std::string hash, text;
};
/// The start of a run.
struct RunBegan {
  Run run;           // without plan_json, which the hash replaces
  std::string plan;  // hash of a PlanText
};
/// The end of a run. A run without one was killed, or still runs.
struct RunEnded {
  int64_t run = 0;
  Moment at;
  Outcome outcome;
  RunClaimsPtr judged;
};
/// A key with its number; trials name their keys by number.
struct KeyAdded {
  int64_t id = 0;
  TrialKey key;
};
/// The start of a trial.
struct TrialBegan {
  TrialStart trial;
  int64_t key = 0;
};
/// The end of a trial.
struct TrialEnded {
  Trial trial;  // only its id, session and TrialResult
  Moment at;
};
/// Values of a trial that were read anew from its kept output; they replace those that it had.
struct Reread {
  Trial trial;  // only its id and TrialValues
  int64_t key = 0;
};

/// The store and number under which a record came into being.
struct Origin {
  std::string store;  // its name
  std::string what;   // "session", "run", "block" or "trial"
  int64_t number = 0;
  auto operator<=>(const Origin&) const = default;
};
/// Says that a record of another store is here under our number, so that merging it again adds nothing.
struct Adopted {
  Origin from;
  int64_t ours = 0;
};

using Entry = std::variant<Opened, Session, Seen, PlanText, RunBegan, RunEnded, BlockPlan, KeyAdded, TrialBegan,
                           TrialEnded, Reread, Adopted>;

/// The line of an entry, without its newline. It ends with a checksum (CRC-32) of the text before it.
std::string toLine(const Entry& entry);
/// The reason why a line is not as it was written, according to its checksum; "" if it is.
std::string_view damageOf(std::string_view line);
/// Reads a line. The error says what is wrong: a checksum that does not fit, text that is not JSON, a member that
/// is missing or of another type. No input crashes it.
Expected<Entry> entryFromLine(std::string_view line);

// Members of entries as JSON, without the line around them; bundles and exports use them too.

void describe(base::JsonRecord& io, Worker& worker);
void describe(base::JsonRecord& io, Match& match);
void describe(base::JsonRecord& io, RunClaims& judged);
json::Array toJson(const std::vector<Place>& places);

}  // namespace expc::store
