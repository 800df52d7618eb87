#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "runtime/report/sections.h"

namespace expc::report {
namespace {

using Kind = Column::Kind;

bool hasInterval(const Grid& grid) {
  return std::ranges::any_of(grid.cells, [](const auto& row) {
    return std::ranges::any_of(row, [](const GridCell& cell) { return cell.interval.has_value(); });
  });
}

}  // namespace

Table gridTable(const Grid& grid, const std::string& label) {
  Table table{.label = label, .style = "grid", .all = grid.rows.size(), .over = grid.column_factor};
  for (const std::string& factor : grid.row_factors) table.columns.push_back({factor, Kind::Label});
  for (const std::string& column : grid.columns) table.columns.push_back({column});
  for (size_t r = 0; r < grid.rows.size() && r < kMostRows; ++r) {
    Row row;
    for (const std::string& level : grid.rows[r]) row.add(level);
    for (const GridCell& cell : grid.cells[r]) row.cells.push_back(valueCell(cell, grid.unit, grid.dimension));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Part gridPart(const plan::Plan& plan, const Grid& grid, const std::string& title) {
  Part part{title};
  if (const plan::Metric* metric = plan.findMetric(grid.subject)) {
    if (metric->derived) part.law = grid.subject + " = " + metric->text;
    part.rest =
        fmt::format("{}median over {} trials, {}; {}", metric->series ? "the last value of each run's series; " : "",
                    toString(metric->kind), hasInterval(grid) ? "with 95 % intervals" : "without an interval",
                    !metric->better                             ? "whether more of it is better is not said"
                    : *metric->better == plan::Direction::Lower ? "lower is better"
                                                                : "higher is better");
  } else if (grid.comparison) {
    part.law = grid.text;
    part.rest = "estimate over pairs in one block, not of medians, with 95 % intervals";
  }
  if (!grid.rows.empty()) part.blocks.emplace_back(gridTable(grid, title));
  return part;
}

Block tableBlock(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Table& table) {
  if (auto described = describedTable(plan, *judgement.description, table)) return std::move(*described);
  return gridPart(plan, buildGrid(plan, judgement, table.subject, table.by), table.subject);
}

Table pointTable(const plan::Plan& plan, const analysis::Judgement& judgement, const std::vector<plan::Table>& tables) {
  Table table{.label = "Every metric at every point", .style = "grid", .all = plan.points.size(), .one_row = "point"};
  for (const plan::Factor& factor : plan.factors)
    table.columns.push_back({factor.name, Kind::Label, factor.levels.size() < 2 ? Shown::OnPage : Shown::Everywhere});
  for (const plan::Metric& metric : plan.metrics) {
    const auto shows = [&](const plan::Table& one) { return one.subject == metric.name || one.other == metric.name; };
    table.columns.push_back(
        {metric.name, Kind::Number, std::ranges::any_of(tables, shows) ? Shown::OnPage : Shown::Everywhere});
  }
  for (size_t i = 0; i < plan.points.size() && i < kMostRows; ++i) {
    Row row;
    for (size_t f = 0; f < plan.factors.size(); ++f) row.add(plan.levelLabel(plan.points[i], f));
    for (const plan::Metric& metric : plan.metrics) {
      Cell cell = valueCell(metricCell(plan, judgement, plan.points[i], metric), metric.unit, metric.dimension);
      cell.more = fmt::format("{}{}", fmt::join(cell.below, " "), cell.more);
      cell.below.clear();
      row.cells.push_back(std::move(cell));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace expc::report
