#include <fmt/format.h>

#include <algorithm>

#include "runtime/analysis/description.h"
#include "runtime/analysis/format.h"
#include "runtime/plan/find.h"
#include "runtime/report/chart.h"
#include "runtime/report/html_parts.h"
#include "runtime/report/html_table.h"
#include "runtime/report/html_text.h"
#include "runtime/report/layout.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

void addValue(HtmlTable& table, const GridCell& cell, const std::string& unit, const std::string& dimension) {
  const std::string published =
      cell.published ? "<small>" + html(publishedText(cell, unit, dimension)) + "</small>" : "";
  if (!cell.estimate) {
    table.cell(html(cell.note.empty() ? "—" : cell.note) + published, "num quiet");
    return;
  }
  const analysis::EstimateText text = partsOf(cell, unit, dimension);
  std::string below =
      text.interval + (text.interval.empty() ? "n=" : ", n=") + std::to_string(cell.n) + asideText(cell);
  if (!cell.outliers.empty()) below += ", " + counted(cell.outliers.size(), "outlier");
  table.number(fmt::format("<b>{}</b><small>{}</small>{}", html(text.estimate), html(below), published));
}

std::string gridTable(const Grid& grid, const std::string& label) {
  HtmlTable table("grid", label);
  for (const std::string& factor : grid.row_factors) table.column(factor);
  for (const std::string& column : grid.columns) table.column(column, true);
  if (!grid.column_factor.empty()) table.over(grid.column_factor, grid.row_factors.size());
  for (size_t r = 0; r < grid.rows.size() && r < kMaxRows; ++r) {
    table.row();
    for (const std::string& level : grid.rows[r]) table.head(html(level));
    for (const GridCell& cell : grid.cells[r]) addValue(table, cell, grid.unit, grid.dimension);
  }
  std::string out = table.text();
  if (grid.rows.size() > kMaxRows)
    out += fmt::format("<p class=\"quiet\">The first {} of {} rows.</p>", kMaxRows, grid.rows.size());
  return out;
}

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

std::string describe(const plan::Plan& plan, const Grid& grid) {
  const bool dots = !areHeatMaps(grid);
  if (grid.comparison)
    return "<code>" + html(grid.text) +
           "</code>: estimate over pairs of the same block (not of medians), 95 % interval" +
           (dots ? ", values of single blocks as dots" : "");
  const plan::Metric* metric = plan.findMetric(grid.subject);
  if (!metric) return "";
  std::string what =
      metric->derived ? "<code>" + html(grid.subject + " = " + metric->text) + "</code>, in each run. " : "";
  if (metric->series) what = "The last value of each run's series. ";
  const bool intervals = std::any_of(grid.cells.begin(), grid.cells.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const GridCell& cell) { return cell.interval.has_value(); });
  });
  const std::string better = !metric->better                             ? "whether more of it is better is not said"
                             : *metric->better == plan::Direction::Lower ? "lower is better"
                                                                         : "higher is better";
  return what + fmt::format("Median over {} trials {}; {}.{}", toString(metric->kind),
                            intervals ? "with its 95 % interval" : "without an interval, for which there are too few",
                            better, dots ? " Dots are single trials." : "");
}

std::string chartFigures(Page& page, const Grid& grid, const std::string& name) {
  size_t left_out = 0;
  std::vector<Chart> all = charts(page.plan, grid, left_out);
  return chartFigures(page, std::move(all), left_out, "more chart", name);
}

std::string subjectBlock(Page& page, const Grid& grid, const std::string& title, bool chart_first) {
  std::string out = fmt::format("<article class=\"measure\"><h3>{}</h3><p class=\"quiet\">{}</p>", html(title),
                                describe(page.plan, grid));
  if (grid.rows.empty()) return out + "<p>Nothing to show.</p></article>\n";
  const std::string figures = chartFigures(page, grid, title);
  if (chart_first)
    out += figures + folded("The numbers", gridTable(grid, title));
  else
    out += gridTable(grid, title) + figures;
  return out + "</article>\n";
}

/// A plot that is not over a factor: a series over its places, or one metric over another.
std::string plotBlock(Page& page, const plan::Plot& plot, const std::string& title) {
  const bool series = plot.kind(page.plan) == plan::PlotKind::Series;
  size_t left_out = 0;
  std::vector<Chart> all = series ? curveCharts(page.plan, page.judgement.description->curves, plot, left_out)
                                  : scatterCharts(page.plan, page.judgement, plot, left_out);
  std::string what = series ? "The medians of all trials of a point; the numbers are each trial's last."
                            : "The medians of all trials of a point, with their 95 % intervals.";
  for (const std::string& name : {plot.subject, plot.over})
    if (const plan::Metric* metric = page.plan.findMetric(name); metric && !metric->better && !series)
      what += " Which points no other beats is not shown: whether more of " + name + " is better is not said.";
  const std::string figures = chartFigures(page, std::move(all), left_out, series ? "more curve" : "more point", title);
  std::string out =
      fmt::format("<article class=\"measure\"><h3>{}</h3><p class=\"quiet\">{}</p>{}", html(title), what, figures);
  const Grid grid = buildGrid(page.plan, page.judgement, plot.subject, plot.by);
  if (!grid.rows.empty()) out += folded("The numbers", gridTable(grid, title));
  return out + "</article>\n";
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

std::string tableSection(Page& page) {
  const plan::Plan& plan = page.plan;
  std::string out;
  for (const plan::Table& table : plan.tables)
    if (const auto described = describedTable(plan, *page.judgement.description, table))
      out += folded(*described);
    else
      out += subjectBlock(page, buildGrid(plan, page.judgement, table.subject, table.by),
                          table.subject + " by " + joined(table.by), false);
  for (const plan::Plot& plot : plan.plots) {
    if (plot.kind(plan) != plan::PlotKind::Factor) {
      out += plotBlock(page, plot, plotTitle(plot));
      continue;
    }
    out += subjectBlock(page, gridOf(page, plot), plotTitle(plot), true);
  }
  for (const plan::Table& table : defaultTables(plan))
    out += subjectBlock(page, buildGrid(plan, page.judgement, table.subject, table.by), table.subject, false);
  if (out.empty()) return "";
  return "<section id=\"tables\"><h2>Results</h2>\n" + out + "</section>\n";
}

std::string comparisonSection(const Page& page) {
  std::string out;
  for (const plan::Comparison& comparison : page.plan.comparisons) {
    const auto* result = plan::named(page.judgement.comparisons, comparison.name);
    if (!result) continue;
    const bool difference =
        !comparison.cells.empty() && comparison.cells[0].estimator == plan::Estimator::PairedDifference;
    out += fmt::format("<article class=\"measure\"><h3>{}</h3><p class=\"law\"><code>{}</code></p>",
                       html(comparison.name), html(comparison.text));
    if (comparison.cells.empty())
      out += fmt::format("<p class=\"quiet\">{}</p>", kNothingToCompare);
    else
      out += cellTable(page, comparison.factors, comparison.cells, result->cells, comparison.unit, std::nullopt,
                       difference ? 0.0 : 1.0, CellVerdicts::None, comparison.name);
    if (const std::string lacking = withoutPartnerText(comparison); !lacking.empty())
      out += "<p class=\"quiet\">" + html(lacking) + "</p>";
    out += "</article>\n";
  }
  if (out.empty()) return "";
  return "<section id=\"comparisons\"><h2>Comparisons</h2>\n" + folded("Every comparison in every cell", out) +
         "</section>\n";
}

std::string measurementSection(const Page& page) {
  const plan::Plan& plan = page.plan;
  if (plan.points.empty() || plan.metrics.empty()) return "";
  // One row for each point: a grid per metric, whose single column is that metric.
  HtmlTable table("grid", "Every metric at every point");
  for (const plan::Factor& factor : plan.factors) table.column(factor.name);
  for (const plan::Metric& metric : plan.metrics) table.column(metric.name, true);
  for (size_t i = 0; i < plan.points.size() && i < kMaxRows; ++i) {
    const plan::Point& point = plan.points[i];
    table.row();
    for (size_t f = 0; f < plan.factors.size(); ++f) table.head(html(plan.levelLabel(point, f)));
    for (const plan::Metric& metric : plan.metrics)
      addValue(table, metricCell(page.plan, page.judgement, point, metric), metric.unit, metric.dimension);
  }
  std::string out = table.text();
  if (plan.points.size() > kMaxRows)
    out += fmt::format("<p class=\"quiet\">The first {} of {} points; the data at the end of the page has all.</p>",
                       kMaxRows, plan.points.size());
  return "<section id=\"measurements\"><h2>All measurements</h2>" + folded("Every metric at every point", out) +
         "</section>\n";
}

}  // namespace expc::report
