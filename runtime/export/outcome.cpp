#include "runtime/export/outcome.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
#include "runtime/report/grid.h"
#include "runtime/report/wording.h"

namespace expc::exports {

Outcome outcomeOf(const analysis::CriterionResult& result) {
  if (result.verdict == analysis::Verdict::NotAsked) return Outcome::NotAsked;
  if (!result.isFinal()) return Outcome::Undecided;
  switch (result.verdict) {
    case analysis::Verdict::Pass:
      return Outcome::Holds;
    case analysis::Verdict::Fail:
    case analysis::Verdict::Infeasible:
      return Outcome::Fails;
    default:
      return Outcome::Undecided;
  }
}

std::string markedVerdict(const analysis::CriterionResult& result) {
  std::string text = report::verdictWord(result.verdict);
  for (const report::Caveat& caveat : report::caveatsOf(result)) text += " (" + caveat.mark + ")";
  return text;
}

std::vector<std::string> explanationOf(const plan::Plan& plan, const plan::Criterion& criterion,
                                       const analysis::CriterionResult& result) {
  std::vector<std::string> lines;
  if (!result.why.empty()) lines.push_back(result.why);
  for (const report::Caveat& caveat : report::caveatsOf(result)) lines.push_back(caveat.mark + ": " + caveat.why);
  for (std::string& remark : report::remarksOn(plan, criterion, result)) lines.push_back(std::move(remark));
  if (std::string scope = report::scopeText(criterion, result); !scope.empty()) lines.push_back(std::move(scope));
  return lines;
}

const plan::Criterion* criterionOf(const plan::Plan& plan, const analysis::CriterionResult& result) {
  const auto found = std::find_if(plan.criteria.begin(), plan.criteria.end(),
                                  [&](const plan::Criterion& one) { return one.name == result.name; });
  return found == plan.criteria.end() ? nullptr : &*found;
}

std::string cellLine(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell) {
  if (cell.cell >= criterion.cells.size()) return "";
  const plan::Cell& planned = criterion.cells[cell.cell];
  std::vector<std::string> levels;
  for (size_t i = 0; i < criterion.factors.size() && i < planned.labels.size(); ++i)
    levels.push_back(criterion.factors[i] + "=" + planned.labels[i]);
  const auto bounds = report::boundEnds(analysis::boundOf(criterion, planned));
  const std::string_view dimension = analysis::dimensionOf(plan, planned);
  std::string line = fmt::format("{}{}", fmt::join(levels, " "), levels.empty() ? "" : ": ");
  const analysis::EstimateText text =
      report::partsOf(report::gridCell(plan, planned, cell), criterion.unit, std::string(dimension), bounds);
  line += text.estimate.empty() ? "no estimate" : text.estimate;
  if (!text.interval.empty()) line += " " + text.interval;
  line += fmt::format(", n={}", cell.scope.complete);
  if (!cell.why.empty()) line += ": " + cell.why;
  return line;
}

}  // namespace expc::exports
