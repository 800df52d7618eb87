// The line of a verdict on a claim that memory runs out, which no number explains.

#include <algorithm>
#include <string>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/judge/criteria.h"
#include "runtime/report/reasons.h"
#include "runtime/report/verdict_text.h"

namespace expc::report {

using plan::Reason;

VerdictLine memoryLine(const Judged& of) {
  const auto& [plan, criterion, result] = of;
  const std::vector<CellEstimate>& cells = result.cells;
  const auto said = [&](const auto& cell) {
    const Words words = inWords(plan, cell == cells.end() ? plan::Why() : cell->why);
    return VerdictLine{words.text, {words}};
  };
  if (cells.size() == 1) return said(cells.begin());
  const auto has_verdict = [&](const CellEstimate& cell) { return cell.verdict == result.verdict; };
  const bool all_hold = std::ranges::all_of(cells, has_verdict) && criterion.claim.kind != plan::Claim::Kind::Exists;
  if (result.verdict == Verdict::Pass && all_hold) {
    const bool one_block = std::ranges::any_of(
        cells, [](const CellEstimate& cell) { return cell.why && cell.why->code == Reason::RanOutInOnlyBlock; });
    const std::string all =
        cells.size() == 2 ? "both configurations" : fmt::format("all {} configurations", cells.size());
    return {one_block ? fmt::format("{} ran out of memory, some in their only block{}", all, kOneBlock)
                      : fmt::format("{} ran out of memory, in at least {} blocks each", all, judge::kInfeasibleBlocks)};
  }
  // The first cell with the verdict explains it; without one the first that does not pass.
  const auto explains = std::ranges::find_if(cells, has_verdict);
  if (explains != cells.end()) {
    VerdictLine line = said(explains);
    line.text =
        fmt::format("{}{}; {}",
                    result.verdict == Verdict::Pass   ? "holds"
                    : result.verdict == Verdict::Fail ? "fails"
                                                      : "undecided",
                    inConfigurations(size_t(std::ranges::count_if(cells, has_verdict)), cells.size()), line.text);
    return line;
  }
  return said(std::ranges::find_if(cells, [](const CellEstimate& cell) { return cell.verdict != Verdict::Pass; }));
}

}  // namespace expc::report
