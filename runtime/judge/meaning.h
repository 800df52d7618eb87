#pragma once

// The meaning of each verdict for whoever waits for an answer, in one table that the terminal, pages, exports and exit
// codes read.

#include <string_view>

#include "runtime/judge/results.h"

namespace expc::judge {

enum class Answer { Holds, Fails, Undecided, NotAsked };

struct Meaning {
  Verdict verdict;
  /// Sure: as it is printed. Little: a pass on so few single values that more than half of further ones may fail. Not:
  /// it is provisional or untrusted.
  enum class Stands { Sure, Little, Not } stands;
  std::string_view word;      // "PASS"
  std::string_view sign;      // of pages: "✓"
  std::string_view style;     // its class on pages and its colour in a terminal: pass, weak, fail, open or none
  std::string_view markdown;  // its sign in Markdown
  Answer answer;
  int exit_code;  // of a study that has nothing worse
};

const Meaning& meaningOf(const CriterionResult& result);
/// The meaning of a verdict that stands, as that of a cell or of a missing result does.
const Meaning& meaningOf(Verdict verdict);

/// How many values a pass rests on that says of single ones that all hold, in the cell that has the fewest; 0 where it
/// rests on intervals, or on values that never vary.
unsigned singleValues(const CriterionResult& result);

}  // namespace expc::judge
