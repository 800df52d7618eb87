#include <fmt/format.h>

#include "compiler/driver/plan_modes.h"
#include "compiler/expand/condition.h"
#include "runtime/report/layout.h"

namespace expc::driver {
namespace {

constexpr uint64_t kPerPage = 50;
constexpr size_t kBuffer = 1 << 16;

std::string row(points::Prepared& prepared, expand::Levels point, size_t width) {
  std::string label = expand::labelOf(prepared.study(), point);
  std::string text = fmt::format("  {}  {:{}}", prepared.writer().id(point), label, width);
  const std::string& unavailable = prepared.machine().unavailable(point);
  const std::string infeasible = prepared.machine().expectedInfeasible(point);
  if (!unavailable.empty())
    text += "  not available: " + unavailable;
  else if (!infeasible.empty())
    text += "  expected infeasible: " + infeasible;
  while (text.back() == ' ') text.pop_back();
  return report::printable(text) + "\n";
}

}  // namespace

report::PlanCounts countsOf(const lower::Outline& outline) {
  return {outline.points,          outline.available,        outline.expected_infeasible, outline.comparison_cells,
          outline.criterion_cells, outline.comparison_unfit, outline.criterion_unfit};
}

bool listPoints(points::Prepared& prepared, const expand::Condition* where, const PlanOptions& options,
                const Console& console) {
  const bool lines = options.format == PlanFormat::JsonLines;
  const uint64_t shown = options.page.value_or(1), first = (shown - 1) * kPerPage;
  std::vector<std::vector<unsigned>> page;
  std::string text, line;
  uint64_t found = 0;
  bool open = true;
  if (lines) {
    const lower::Outline outline = lower::outlineOf(prepared);
    open = console.printRaw(report::planLinesHeader(outline.head, countsOf(outline)) + "\n");
  }
  prepared.space().forEach([&](expand::Levels point) {
    // A point at which the condition has no value does not satisfy it.
    if (where && !where->holds(point)) return true;
    if (lines) {
      prepared.line(point, line);
      text += line += '\n';
      if (text.size() < kBuffer) return true;
      open = console.printRaw(text);
      text.clear();
    } else if (found >= first && found < first + kPerPage) {
      page.emplace_back(point.begin(), point.end());
    }
    ++found;
    return open;
  });
  if (lines) return open && console.printRaw(text);

  size_t width = 0;
  for (const auto& point : page) width = std::max(width, expand::labelOf(prepared.study(), point).size());
  const uint64_t pages = (found + kPerPage - 1) / kPerPage;
  text = fmt::format("study {}: {} of {} points{}", prepared.study().name, found, prepared.survey().points,
                     options.where ? " satisfy " + *options.where : "");
  if (pages > 1 && shown <= pages) text += fmt::format(", page {} of {}", shown, pages);
  text = report::printable(text) + "\n";
  if (shown > 1 && shown > pages) text += fmt::format("  there is no page {}: they fill {}\n", shown, pages);
  for (const auto& point : page) text += row(prepared, point, width);
  if (shown < pages) text += fmt::format("  the next ones: --page {}\n", shown + 1);
  return console.print(text);
}

}  // namespace expc::driver
