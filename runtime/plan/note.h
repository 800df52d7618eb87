#pragma once

// A note of a trial: what a reader of its values must know. Most are a code with what it speaks of; a workload may also
// say a text of its own. The words for codes are in runtime/report (noteText).

#include <llvm/Support/JSON.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/llvm.h"

namespace expc::base {
class JsonRecord;
}

namespace expc::plan {

struct Note {
  enum class Code : uint8_t {
    Said,          // by a workload, or in a journal before version 3: `said`
    Crowded,       // other processes took more than `number` of its cores
    LimitUnknown,  // the limit `name` of the study was not applied
    Diverged,      // the metric `name`; `number` is not finite
    WentOn,        // though `said` happened, as of a process that ran out of memory
    AnyPlace,      // `numa = any` means little on this machine
    LeftBehind,    // `number` processes, which were ended
    StarterPeak,   // host_memory_peak may be that of the process that starts programs
    MadeUp,        // the data `name`, of which a file MADE_UP says so
    ReadBefore,    // the metric `name` is read from before the line `said`, which has its words and no number
    FewValues,     // the metric `name` is a percentile, `said`, of fewer than `number` values
    // From here on `number` counts things among `of`, which `said` names in the singular if they are of several kinds.
    Leaked,        // held-out rows or images that are trained on, which spoils the metric `name`
    NearlyLeaked,  // held-out rows that differ from a training row only in case or white space
    HeldOut,       // rows that are evaluated and not trained on
    Truncated,     // texts that were cut at max_length
    Unlearnt,      // rows without an answer to learn
    EqualPairs     // pairs whose answers are equal
  };
  using enum Code;

  Code code = Said;
  std::string name = "";
  double number = 0;
  std::string said = "";
  double of = 0;

  Note() = default;
  Note(std::string said) : said(std::move(said)) {}
  Note(const char* said) : said(said) {}
  Note(Code code, std::string name = "", double number = 0, std::string said = "", double of = 0)
      : code(code), name(std::move(name)), number(number), said(std::move(said)), of(of) {}
  bool operator==(const Note&) const = default;
};

/// A text that was said stands as it is, every other note is an object.
void describeNotes(base::JsonRecord& io, StringRef key, std::vector<Note>& notes);
json::Array toJson(const std::vector<Note>& notes);

}  // namespace expc::plan
