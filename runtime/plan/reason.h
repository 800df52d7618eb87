#pragma once

// Reasons why something has no value or decides nothing, as codes with their details. report/reasons.cpp has the
// words; whoever computes asks for the code. The words there are in the order of the codes.

#include <climits>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace expc::plan {

struct Reason;
using Why = std::shared_ptr<const Reason>;  // null: there is no reason

/// A reason. Details that a code does not name are unused by it.
struct Reason {
  enum class Code : uint8_t {
    Said,  // `said` by a program, or by the author of a record
    // About a term; `name` is the metric, or the parameter.
    NotANumber,
    NoSeries,
    EmptySeries,
    SeriesTooShort,  // nothing is left of it after the values that are skipped; numbers: how many it has
    NoCommonPlace,   // two series share no position
    NoParameter,
    DivisionByZero,
    NotPositive,  // an operand of a ratio; numbers, where it is a metric `name` of a place: trials of it that gave no
                  // value above 0, those that gave one, and 1 if one is below 0
    NeitherReached,  // neither of two series reached its bound
    BothWorst,  // both operands rank as worst, so they cannot be compared; numbers: if any timed out, if any diverged
    NotOnDevice,
    NotInOutput,  // an optional metric of a command, in no trial of the place
    NotInTrials,
    NoDirection,  // a metric timed out or diverged and neither end of it is the worse one
    NotComputed,  // a derived metric; `because` names the part that it lacks
    // About a point or control.
    OfPlace,  // `because` is true of it
    NoTrial,
    NotRun,
    NotTogether,  // not in one block and session with the others
    Superseded,   // a timeout under a smaller limit; numbers: that limit in seconds
    NeedsLimit,   // a timeout under a smaller limit than another trial had, but the study's; numbers: that limit
    Failed,
    Disturbed,
    RanOut,             // out of memory
    RanOutIn,           // out of memory; numbers: blocks
    NoBaseline,         // the baseline ran out of memory; numbers: blocks
    Unstable,           // numbers: blocks that ran out of memory, all blocks
    Unavailable,        // on this system
    ExpectedOut,        // its estimate exceeds the memory, so it was not started
    ExpectedOutOnly,    // the same for a claim that it runs out: an estimate is no evidence
    RanWell,            // claimed to run out, but did not; numbers: blocks that ran well, all, those that did run out
    RanOutInOnlyBlock,  // numbers: none
    RanOutTooSeldom,    // numbers: blocks that ran out, blocks that are needed
    NeitherOutNorWell,
    // About a cell.
    OneExactValue,  // one value does not show that an exact metric is constant
    TooFew,  // numbers: how many are needed, confidence in per cent, how many there are; `because`: the lost ones
    Trend,   // values rise or fall throughout; numbers: Kendall's tau, how many values
    SessionsApart,  // the interval of few sessions tells nothing; numbers: sessions, how many would do (0: none)
    Unusable,       // numbers: trials without a usable value; `because` is the newest one's
    NoUsableValue,  // in any trial
    Diverged,       // no trial has a finite value, and neither end is the worse one
    // About a verdict.
    NotAsked,  // the selection or the system leaves none of its points
    OnNullCards,
    // About a claim that is not simulated.
    NotOfThesePoints,
    NoMatterOfNoise,  // it is about memory
    ReadsCourse,      // it reads the course of a series
    NoTruth,          // its value cannot be computed without trials
    NoSize,           // it adds or subtracts, and sizes are unknown
    StatedNotPositive
  };
  using enum Code;

  Code code;
  unsigned point = UINT_MAX;  // index in Plan::points
  std::string control = "";   // the control's name; "": the point itself
  std::string name = "";
  std::vector<double> numbers = {};
  bool pairs = false;     // `numbers` counts pairs, not trials
  std::string said = "";  // the words of a program, in one line
  Why because = nullptr;
};

/// A shared reason, to be passed along with a missing value.
inline Why because(Reason reason) { return std::make_shared<const Reason>(std::move(reason)); }

/// The innermost reason behind this one.
inline const Reason& origin(const Reason& reason) { return reason.because ? origin(*reason.because) : reason; }

}  // namespace expc::plan
