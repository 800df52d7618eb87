#include "runtime/judge/meaning.h"

#include <algorithm>

#include "runtime/judge/format.h"

namespace expc::judge {
namespace {

using Stands = Meaning::Stands;

/// Sorted by verdict, then from most to least certain. A missing combination uses the row above.
constexpr Meaning kMeanings[] = {
    {Verdict::Pass, Stands::Sure, "PASS", "✓", "pass", "✅", Answer::Holds, 0},
    {Verdict::Pass, Stands::Little, "PASS", "✓", "weak", "☑️", Answer::Holds, 0},
    {Verdict::Pass, Stands::Not, "PASS", "?", "open", "❔", Answer::Undecided, 4},
    {Verdict::Fail, Stands::Sure, "FAIL", "✕", "fail", "❌", Answer::Fails, 3},
    {Verdict::Fail, Stands::Not, "FAIL", "?", "open", "❔", Answer::Undecided, 4},
    {Verdict::Inconclusive, Stands::Sure, "INCONCLUSIVE", "?", "open", "❔", Answer::Undecided, 4},
    {Verdict::Infeasible, Stands::Sure, "INFEASIBLE", "⊘", "fail", "❌", Answer::Fails, 3},
    {Verdict::Infeasible, Stands::Not, "INFEASIBLE", "?", "open", "❔", Answer::Undecided, 4},
    {Verdict::NotRun, Stands::Sure, "NOT RUN", "…", "none", "❔", Answer::Undecided, 4},
    {Verdict::Broken, Stands::Sure, "BROKEN", "✕", "fail", "❌", Answer::Undecided, 6},
    {Verdict::NotAsked, Stands::Sure, "NOT ASKED", "–", "none", "➖", Answer::NotAsked, 0},
};

const Meaning& find(Verdict verdict, Stands stands) {
  const Meaning* found = nullptr;
  for (const Meaning& one : kMeanings)
    if (one.verdict == verdict && one.stands <= stands) found = &one;
  return *found;
}

}  // namespace

const Meaning& meaningOf(const CriterionResult& result) {
  const unsigned n = singleValues(result);
  return find(result.verdict, !result.isFinal()         ? Stands::Not
                              : n > 0 && showsLittle(n) ? Stands::Little
                                                        : Stands::Sure);
}

const Meaning& meaningOf(Verdict verdict) { return find(verdict, Stands::Sure); }

unsigned singleValues(const CriterionResult& result) {
  if (result.verdict != Verdict::Pass || !result.every_trial) return 0;
  unsigned fewest = 0;
  for (const CellEstimate& cell : result.cells) {
    const auto n = unsigned(cell.values.size());
    if (cell.verdict == Verdict::Pass && !cell.constant && n > 0) fewest = fewest == 0 ? n : std::min(fewest, n);
  }
  return fewest;
}

}  // namespace expc::judge
