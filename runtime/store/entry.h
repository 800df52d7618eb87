#pragma once

// One line of a journal: what became known, as a JSON object.

#include <llvm/Support/Error.h>
#include <llvm/Support/JSON.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/store/records.h"

namespace expc::plan {
class JsonRecord;
}

namespace expc::store {

inline constexpr int kJournalVersion = 3;

/// The first line of each journal. Bytes of an earlier journal beyond what `sealed` gives were written by somebody who
/// had lost the lease: they count for nothing.
struct Opened {
  uint64_t epoch = 0;                      // of the journal: larger than every earlier one's
  std::string store;                       // the same in all journals of a folder
  std::map<std::string, uint64_t> sealed;  // journal -> bytes
  std::set<std::string> replaced;          // journals whose whole content this one holds (compaction)
};
/// A session went on.
struct Seen {
  int64_t session = 0;
  Moment at;
};
/// A plan that runs refer to by the hash of its text, so that a large one is kept once.
struct PlanText {
  std::string hash, text;
};
struct RunBegan {
  Run run;           // without plan_json
  std::string plan;  // hash
};
struct RunEnded {
  int64_t run = 0;
  Moment at;
  Outcome outcome;
  JudgedPtr judged;
};
/// Trials name their keys by number.
struct KeyAdded {
  int64_t id = 0;
  TrialKey key;
};
struct TrialBegan {
  TrialStart trial;
  int64_t key = 0;
};
struct TrialEnded {
  Trial trial;  // its id, session and TrialResult
  Moment at;
};
/// Values of a trial that were read anew from its outputs: they stand in for those that it had.
struct Reread {
  Trial trial;  // its id and TrialValues
  int64_t key = 0;
};

/// Where a record came into being.
struct Origin {
  std::string store;  // its name
  std::string what;   // "session", "run", "block" or "trial"
  int64_t number = 0;
  auto operator<=>(const Origin&) const = default;
};
/// A record of another store is ours under another number.
struct Adopted {
  Origin from;
  int64_t ours = 0;
};

using Entry = std::variant<Opened, Session, Seen, PlanText, RunBegan, RunEnded, BlockPlan, KeyAdded, TrialBegan,
                           TrialEnded, Reread, Adopted>;

/// The line without its newline. It ends with a checksum of what comes before it.
std::string toLine(const Entry& entry);
/// Why a line is not as it was written, by its checksum; "" of one that is.
std::string_view damageOf(std::string_view line);
/// The error says what is wrong: no JSON, a checksum that does not fit, a member that is missing or of another type. No
/// line crashes it.
llvm::Expected<Entry> entryFromLine(std::string_view line);

// What entries hold, as JSON without the line around it:

void describe(plan::JsonRecord& io, Worker& worker);
void describe(plan::JsonRecord& io, Match& match);
void describe(plan::JsonRecord& io, Judged& judged);
llvm::json::Array toJson(const std::vector<plan::Place>& places);

}  // namespace expc::store
