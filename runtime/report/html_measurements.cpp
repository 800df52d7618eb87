#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/description.h"
#include "runtime/report/attribution_text.h"
#include "runtime/report/chart.h"
#include "runtime/report/description_text.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/sections.h"

namespace expc::report {
namespace {

/// `what`: what is counted as left out.
std::string chartFigures(Page& page, std::vector<Chart> all, size_t left_out, const char* what,
                         const std::string& name) {
  if (all.empty())
    return left_out ? "<p class=\"quiet\">More points than a chart can tell apart; the table has them.</p>"
                    : "<p class=\"quiet\">Nothing was measured that could be drawn.</p>";
  std::string out = page.figures(std::move(all), name);
  if (left_out) out += fmt::format("<p class=\"quiet\">{} not drawn; the table has them.</p>", counted(left_out, what));
  return out;
}

Block foldedNumbers(Table table) { return Part{.title = "The numbers", .blocks = {std::move(table)}, .folded = true}; }

Block subjectPart(Page& page, const Grid& grid, const std::string& title, bool chart_first) {
  Part part = gridPart(page.plan, grid, title);
  if (part.blocks.empty()) {
    part.blocks.emplace_back(Paragraph{"nothing to show"});
    return part;
  }
  if (!areHeatMaps(grid)) part.rest += grid.comparison ? "; dots are single blocks" : "; dots are single trials";
  size_t left_out = 0;
  std::vector<Chart> all = charts(page.plan, grid, left_out);
  Block figures = Figures{chartFigures(page, std::move(all), left_out, "more chart", title)};
  if (chart_first)
    part.blocks = {std::move(figures), foldedNumbers(gridTable(grid, title))};
  else
    part.blocks.push_back(std::move(figures));
  return part;
}

/// A plot that is not over a factor: a series over its places, or one metric over another.
Block plotPart(Page& page, const plan::Plot& plot, const std::string& title) {
  const bool series = plot.kind(page.plan) == plan::PlotKind::Series;
  size_t left_out = 0;
  std::vector<Chart> all = series ? curveCharts(page.plan, page.judgement.description->curves, plot, left_out)
                                  : scatterCharts(page.plan, page.judgement, plot, left_out);
  Part part{title};
  part.rest = series ? "The medians of all trials of a point; the numbers are each trial's last."
                     : "The medians of all trials of a point, with their 95 % intervals.";
  for (const std::string& name : {plot.subject, plot.over})
    if (const plan::Metric* metric = page.plan.findMetric(name); metric && !metric->better && !series)
      part.rest += " Which points no other beats is not shown: whether more of " + name + " is better is not said.";
  part.blocks.emplace_back(
      Figures{chartFigures(page, std::move(all), left_out, series ? "more curve" : "more point", title)});
  const Grid grid = buildGrid(page.plan, page.judgement, plot.subject, plot.by);
  if (!grid.rows.empty()) part.blocks.push_back(foldedNumbers(gridTable(grid, title)));
  return part;
}

/// Rows: the factors that make separate charts, then x; columns: colour.
Grid gridOf(const Page& page, const plan::Plot& plot) {
  std::vector<std::string> by(plot.by.begin() + (plot.by.empty() ? 0 : 1), plot.by.end());
  by.push_back(plot.over);
  if (!plot.by.empty()) by.push_back(plot.by[0]);
  Grid grid = buildGrid(page.plan, page.judgement, plot.subject, by);
  // Where the plot names no colour and another factor varies, that is the colour, and x stays what was asked for.
  if (grid.column_factor == plot.over && !grid.row_factors.empty())
    grid = buildGrid(page.plan, page.judgement, plot.subject, {plot.over, grid.row_factors.back()});
  return grid;
}

std::string plotTitle(const plan::Plot& plot) {
  return plot.subject + " over " + plot.over + (plot.by.empty() ? "" : " by " + joined(plot.by));
}

}  // namespace

std::vector<Block> tableBlocks(Page& page) {
  const plan::Plan& plan = page.plan;
  std::vector<Block> blocks;
  for (const plan::Table& table : plan.tables)
    if (auto described = describedTable(plan, *page.judgement.description, table))
      blocks.emplace_back(std::move(*described));
    else
      blocks.push_back(subjectPart(page, buildGrid(plan, page.judgement, table.subject, table.by),
                                   table.subject + " by " + joined(table.by), false));
  for (const plan::Plot& plot : plan.plots)
    blocks.push_back(plot.kind(plan) == plan::PlotKind::Factor
                         ? subjectPart(page, gridOf(page, plot), plotTitle(plot), true)
                         : plotPart(page, plot, plotTitle(plot)));
  for (const plan::Table& table : defaultTables(plan))
    blocks.push_back(subjectPart(page, buildGrid(plan, page.judgement, table.subject, table.by), table.subject, false));
  return blocks;
}

std::vector<Block> attributionBlocks(Page& page) {
  const auto all = analysis::attribute(page.plan, page.judgement, page.results);
  Part part = attributionParts(page.plan, all, withoutAttribution(page.plan, page.judgement, page.results));
  if (std::vector<Chart> bars = profileCharts(page.plan, all); !bars.empty())
    part.blocks.insert(part.blocks.begin() + 1, Figures{page.figures(std::move(bars), "phases of a step")});
  return std::move(part.blocks);
}

}  // namespace expc::report
