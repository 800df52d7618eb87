#pragma once

// Why something has no value, or decides nothing: a code with what it speaks of. Words for it are where results are
// laid out (runtime/report/verdict_text.h), so that whoever computes can ask for the code.

#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace expc::plan {

struct Reason;
using Why = std::shared_ptr<const Reason>;  // null: there is none

struct Reason {
  enum class Code : uint8_t {
    Said,  // by a program, or by whoever wrote the record: `said`
    // Of a term. `name` is the metric, or the parameter.
    NotANumber,
    NoSeries,
    EmptySeries,
    NoCommonPlace,  // of two series
    NoParameter,
    DivisionByZero,
    NotPositive,  // an operand of a ratio; numbers, where it is a metric `name` of a place: trials of it that gave no
                  // value above 0, those that gave one, and 1 if one is below 0
    NeitherReached,  // two series their bounds
    BothWorst,       // the operands, which cannot be compared: timeouts, or values that diverged
    NotOnDevice,
    NotInTrials,
    NoDirection,  // of a metric that timed out or diverged: neither end is the worse one
    NotComputed,  // a derived metric, `because` of a part
    // Of a point or control.
    OfPlace,  // `because` holds there
    NoTrial,
    NotRun,
    NotTogether,  // with the others in one block and session
    Superseded,   // a timeout; numbers: its limit in seconds, which is larger now
    Failed,
    Disturbed,
    RanOut,             // of memory
    RanOutIn,           // numbers: blocks
    NoBaseline,         // the same of another point than the treated one
    Unstable,           // numbers: blocks that ran out of memory, all
    Unavailable,        // here
    ExpectedOut,        // of memory, and so not started
    ExpectedOutOnly,    // the same of a claim that it runs out: an estimate is no evidence
    RanWell,            // where it was claimed to run out; numbers: blocks, all, blocks that did run out
    RanOutInOnlyBlock,  // numbers: none
    RanOutTooSeldom,    // numbers: blocks, how many are needed
    NeitherOutNorWell,
    // Of a cell.
    OneExactValue,  // which does not show that it is constant
    TooFew,  // numbers: how many are needed, for how many per cent, how many there are; `because` of the lost ones
    Trend,   // values rise or fall all the time; numbers: Kendall's tau, how many
    SessionsApart,  // so that their few means tell nothing; numbers: sessions, how many would (0: none)
    Unusable,       // numbers: values that are none, `because` of the newest
    NoUsableValue,  // in any trial
    Diverged,       // no trial has a finite value, and neither end is the worse one
    // Of a verdict.
    NotAsked,  // by the selection or the system
    OnNullCards,
    // Of a claim that is not simulated.
    NotOfThesePoints,
    NoMatterOfNoise,  // but of memory
    ReadsCourse,      // of a series
    NoTruth,          // without trials
    NoSize,           // of what is added or subtracted
    StatedNotPositive
  };
  using enum Code;

  Code code;
  unsigned point = UINT_MAX;  // index in Plan::points
  std::string control = "";   // its name; "": the point itself
  std::string name = "";
  std::vector<double> numbers = {};
  bool pairs = false;     // what is counted are pairs, else trials
  std::string said = "";  // by a program, in a line
  Why because = nullptr;
};

inline Why because(Reason reason) { return std::make_shared<const Reason>(std::move(reason)); }

/// The last of the reasons that are behind each other.
inline const Reason& origin(const Reason& reason) { return reason.because ? origin(*reason.because) : reason; }

}  // namespace expc::plan
