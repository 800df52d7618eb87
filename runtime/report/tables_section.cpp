#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>
#include <utility>

#include "runtime/analysis/format.h"
#include "runtime/analysis/meaning.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/find.h"
#include "runtime/report/chart.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using Kind = Column::Kind;

/// In place of an interval for which there are too few values.
constexpr char kNoInterval[] = "none: too few";

/// What cells are of: a criterion, or where there is none a comparison.
struct Subject {
  const std::vector<std::string>& factors;
  const std::vector<plan::Cell>& cells;
  const std::string& unit;
  const plan::Criterion* criterion = nullptr;
  bool one_was_enough = false;   // one part of the claim is, and there is one: those that fail are not alarming
  std::vector<Words> told = {};  // what the line above all says of cells
  std::string interval = "interval";
};

/// The bound of all cells: none where each has its own, or where the claim is that memory runs out.
std::optional<plan::Bound> sharedBound(const Subject& subject) {
  const bool own = std::ranges::any_of(subject.cells, [](const plan::Cell& cell) { return cell.bound.has_value(); });
  return !subject.criterion || own || subject.criterion->infeasible ? std::nullopt
                                                                    : std::optional(subject.criterion->bound);
}

/// Where a comparison says that nothing differs.
std::optional<double> neutralOf(const Subject& subject, const plan::Cell& cell) {
  if (subject.criterion) return std::nullopt;
  return cell.estimator == plan::Estimator::PairedDifference ? 0.0 : 1.0;
}

Table cellTable(const plan::Plan& plan, const Subject& of, const std::vector<analysis::CellEstimate>& estimates,
                std::string label) {
  Table table{.label = std::move(label), .all = estimates.size(), .one_row = "cell"};
  const double largest = largestOf(estimates);
  std::vector<GridCell> cells;
  std::vector<const analysis::CellEstimate*> shown;
  for (const analysis::CellEstimate& estimate : estimates) {
    if (shown.size() == kMostDrawn) break;
    shown.push_back(&estimate);
    cells.push_back(gridCell(plan, of.cells[estimate.cell], estimate, largest));
  }
  if (shown.empty()) return table;
  const plan::Cell& first = of.cells[shown[0]->cell];
  const std::string dimension(analysis::dimensionOf(plan, first));
  const std::optional<plan::Bound> bound = sharedBound(of);
  const Forest drawn =
      forest(cells, bound, neutralOf(of, first), first.estimator == plan::Estimator::PairedRatio, of.unit, dimension);
  const auto boundText = [&](const plan::Cell& cell) {
    return cell.bound ? cell.bound->text : bound ? bound->text : "";
  };
  const bool judged = of.criterion != nullptr;
  const bool bounded =
      std::ranges::any_of(shown, [&](const auto* estimate) { return !boundText(of.cells[estimate->cell]).empty(); });
  std::vector<Words> whys;
  for (const analysis::CellEstimate& estimate : estimates)
    whys.push_back(judged ? whyText(plan, *of.criterion, estimate) : inWords(plan, estimate.why));
  const bool explained =
      std::ranges::any_of(whys | std::views::take(shown.size()), [](const Words& why) { return !why.text.empty(); });
  const std::vector<std::string> reasons = saidOnce(of.told, whys);

  for (const std::string& factor : of.factors) table.columns.push_back({factor, Kind::Label});
  if (judged) table.columns.push_back({"verdict", Kind::Words});
  table.columns.insert(table.columns.end(), {{"estimate"}, {of.interval}});
  if (bounded) table.columns.push_back({"bound", Kind::Number, Shown::OnPage});
  table.columns.push_back({"n"});
  if (explained) table.columns.push_back({"why", Kind::Prose, judged ? Shown::InText : Shown::Everywhere});
  if (!drawn.rows.empty())
    table.columns.push_back({std::string("dot: estimate; bar: interval; faint dots: single blocks") +
                                 (bound ? "; shaded: where the claim holds" : ""),
                             Kind::Drawing, Shown::OnPage});
  table.foot = drawn.axis;

  for (size_t i = 0; i < shown.size(); ++i) {
    const analysis::CellEstimate& estimate = *shown[i];
    const GridCell& cell = cells[i];
    const plan::Cell& planned = of.cells[estimate.cell];
    const analysis::Meaning& meaning = analysis::meaningOf(estimate.verdict);
    const bool harmless = of.one_was_enough && estimate.verdict == analysis::Verdict::Fail;
    const std::vector<double> near = judged ? plan::ends(plan::boundOf(*of.criterion, planned)) : std::vector<double>();
    const analysis::EstimateText text = partsOf(cell, of.unit, dimension, near);
    const std::string &why = reasons[i], interval = cell.estimate ? kNoInterval : "–";
    Row row{{}, !judged ? "" : harmless ? "none" : meaning.style};
    for (const std::string& level : plan.levelLabels(of.factors, planned)) row.add(level);
    if (judged) row.add(std::string(meaning.word)).more = why;
    Cell& value = row.add(text.estimate.empty() ? "–" : text.estimate, Tone::Strong);
    if (cell.published) value.below.push_back(publishedText(cell, of.unit, dimension));
    row.add(text.interval.empty() ? interval
            : judged              ? text.interval + ownConfidenceText(*of.criterion, estimate)
                                  : text.interval,
            cell.interval && !cell.constant ? Tone::Plain : Tone::Quiet);
    if (bounded) row.add(boundText(planned));
    row.add(std::to_string(cell.n));
    if (explained) row.add(why);
    if (!drawn.rows.empty()) row.add(drawn.rows[i] + drawn.axis);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// "with 95 % intervals", or what is lacking and, where it is known, why.
std::string intervalsText(const Grid& grid) {
  bool any = false;
  double trend = 0;
  for (const auto& row : grid.cells)
    for (const GridCell& cell : row) {
      any |= cell.interval.has_value();
      if (std::abs(cell.trend) > std::abs(trend)) trend = cell.trend;
    }
  std::string text = any ? "with 95 % intervals" : "without an interval";
  if (trend != 0)
    text += fmt::format("{} values rise or fall all the time (Kendall's tau {:.2f})",
                        any ? ", but not where" : ", since", trend);
  return text;
}

}  // namespace

Table criterionCells(const Judged& of, bool open) {
  const auto& [plan, criterion, result] = of;
  std::vector<analysis::CellEstimate> cells = result.cells;
  if (open) std::erase_if(cells, [](const auto& cell) { return cell.verdict == analysis::Verdict::Pass; });
  const bool one_was_enough =
      criterion.claim.kind == plan::Claim::Kind::Exists && result.verdict == analysis::Verdict::Pass;
  Table table = cellTable(plan,
                          {criterion.factors, criterion.cells, criterion.unit, &criterion, one_was_enough,
                           lineOf(of).told, intervalTitle(of)},
                          cells, result.name + " in each cell");
  if (open) table.most = kMostBrief;
  return table;
}

std::vector<Block> comparisonParts(const plan::Plan& plan, const analysis::Judgement& judgement) {
  std::vector<Block> parts;
  for (const plan::Comparison& comparison : plan.comparisons) {
    const auto* result = plan::named(judgement.comparisons, comparison.name);
    if (!result) continue;
    Part part{comparison.name, comparison.text};
    if (comparison.cells.empty()) {
      part.blocks.emplace_back(Paragraph{"this restricted study has no two points to compare"});
    } else {
      part.rest = "from pairs of one block, with 95 % intervals; differs from the quotient or difference of medians";
      part.blocks.emplace_back(
          cellTable(plan, {comparison.factors, comparison.cells, comparison.unit}, result->cells, comparison.name));
    }
    if (std::string lacking = withoutPartnerText(comparison); !lacking.empty())
      part.blocks.emplace_back(Paragraph{std::move(lacking)});
    parts.emplace_back(std::move(part));
  }
  return parts;
}

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
                    toString(metric->kind), intervalsText(grid),
                    !metric->better                             ? "whether more of it is better is not said"
                    : *metric->better == plan::Direction::Lower ? "lower is better"
                                                                : "higher is better");
  } else if (grid.comparison) {
    part.law = grid.text;
    part.rest = "from pairs of one block, with 95 % intervals; differs from the quotient or difference of medians";
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
