#include "runtime/export/outcome.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/bound.h"
#include "runtime/analysis/format.h"
#include "runtime/report/grid.h"
#include "runtime/report/verdict_text.h"

namespace expc::exports {

std::vector<std::string> explanationOf(const Source& source, const plan::Criterion& criterion,
                                       const analysis::CriterionResult& result) {
  std::vector<std::string> lines;
  for (const report::VerdictLine& line :
       report::verdictLines(source.plan, source.judgement, source.results, criterion, result))
    lines.push_back(line.label + ": " + line.text);
  return lines;
}

std::string cellLine(const plan::Plan& plan, const plan::Criterion& criterion, const analysis::CellEstimate& cell) {
  if (cell.cell >= criterion.cells.size()) return "";
  const plan::Cell& planned = criterion.cells[cell.cell];
  std::vector<std::string> levels;
  for (size_t i = 0; i < criterion.factors.size() && i < planned.labels.size(); ++i)
    levels.push_back(criterion.factors[i] + "=" + planned.labels[i]);
  const auto bounds = analysis::ends(analysis::boundOf(criterion, planned));
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
