#include <fmt/format.h>

#include "runtime/report/html_parts.h"
#include "runtime/report/html_table.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/rehearsal_columns.h"

namespace expc::report {
namespace {

std::vector<RehearsalColumn> exactColumns() {
  std::vector<RehearsalColumn> columns;
  for (const auto* group : {&memoryColumns(), &stepColumns()})
    for (const RehearsalColumn& column : *group)
      if (column.exact) columns.push_back(column);
  return columns;
}

void addRow(HtmlTable& table, const plan::Plan& plan, const plan::Point& point, const rehearsal::Point& seen,
            const std::vector<RehearsalColumn>& columns) {
  table.row();
  for (size_t i = 0; i < plan.factors.size(); ++i) table.head(html(plan.levelLabel(point, i)));
  table.cell(html(outcomeText(point, seen)) + (seen.reason.empty() ? "" : "<small>" + html(seen.reason) + "</small>"));
  for (const RehearsalColumn& column : columns)
    table.number(html(seen.rehearsed ? column.text(plan, point, seen) : ""));
}

}  // namespace

std::string rehearsalSection(const Page& page) {
  if (!page.options.rehearsed) return "";
  const plan::Plan& plan = page.plan;
  const rehearsal::Study study = rehearsalOf(plan, *page.options.rehearsed);
  if (study.points.empty()) return "";
  const std::vector<RehearsalColumn> columns = exactColumns();
  HtmlTable table("grid", "What rehearsals saw");
  for (const plan::Factor& factor : plan.factors) table.column(factor.name);
  table.column("rehearsed");
  for (const RehearsalColumn& column : columns) table.column(column.name, true);
  size_t shown = 0;
  for (const plan::Point& point : plan.points) {
    const rehearsal::Point* seen = study.find(point.id);
    if (seen && shown++ < kMaxRows) addRow(table, plan, point, *seen, columns);
  }
  const std::string cards = cardsText(study);
  std::string lead = fmt::format(
      "Not measured: a few steps on {} that compute nothing, counted. Memory is of the rank that takes most, "
      "the rest is of a step of the rank that does most. No verdict comes from it.",
      cards.empty() ? "cards" : html(cards));
  if (shown > kMaxRows)
    lead += fmt::format(" The first {} of {} points; the data at the end of the page has all.", kMaxRows, shown);
  return "<section id=\"rehearsed\"><h2>Rehearsed</h2><p class=\"quiet\">" + lead + "</p>" + table.text() +
         "</section>\n";
}

}  // namespace expc::report
