// Tables of results: the cells of criteria and comparisons, grids that the study's `table` lines ask for, and every
// metric at every point. All make the same Table, so that a terminal and the page show the same numbers; drawings and
// some columns are for the page alone.

#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ranges>
#include <utility>

#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/judge/format.h"
#include "runtime/judge/meaning.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/chart.h"
#include "runtime/report/description_text.h"
#include "runtime/report/reasons.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

using Kind = Column::Kind;

/// Stands in place of an interval for which there are too few values.
constexpr char kNoInterval[] = "too few";

/// The criterion that cells belong to, or a comparison without one.
struct Subject {
  const std::vector<std::string>& factors;
  const std::vector<plan::Cell>& cells;
  const std::string& unit;
  const Criterion* criterion = nullptr;
  /// Whether an exists passed: cells that fail are then no cause for alarm.
  bool one_was_enough = false;   /// The reason that stands above the table and need not be repeated in it.
  std::vector<Words> told = {};  // what the line above all says of cells
  std::string interval = "interval";
};

/// Returns the bound that all cells share: none if cells have their own, or the claim is that memory runs out.
std::optional<plan::Bound> sharedBound(const Subject& subject) {
  const bool own = std::ranges::any_of(subject.cells, [](const plan::Cell& cell) { return cell.bound.has_value(); });
  const Criterion* criterion = subject.criterion;
  if (!criterion || own || criterion->infeasible || !criterion->assertions.empty()) return std::nullopt;
  return criterion->bound;
}

/// Returns the value at which a comparison finds no difference; a criterion has its bound instead.
std::optional<double> neutralOf(const Subject& subject, const plan::Cell& cell) {
  if (subject.criterion) return std::nullopt;
  if (!plan::isPaired(cell)) return std::nullopt;  // an aggregated metric
  return cell.estimator == Estimator::PairedDifference ? 0.0 : 1.0;
}

/// Says how the numbers of a comparison or an aggregate come about.
std::string madeOf(const plan::Cell& cell) {
  if (cell.treated > 1)
    return "each block gives one value of all parts, with 95 % intervals; differs from the same of medians";
  return "from pairs of one block, with 95 % intervals; differs from the quotient or difference of medians";
}

/// Returns the reasons of all cells, also of those that are not shown, since they are shortened against each other.
std::vector<std::string> reasonsOf(const Plan& plan, const Subject& of, const std::vector<CellEstimate>& estimates) {
  std::vector<Words> whys;
  for (const CellEstimate& estimate : estimates) {
    // That it was not run is said by its verdict, and which by its labels.
    const bool unrun = of.criterion && estimate.why && estimate.why->code == plan::Reason::NotRun;
    whys.push_back(unrun          ? Words()
                   : of.criterion ? whyText(plan, *of.criterion, estimate)
                                  : inWords(plan, estimate.why));
  }
  return saidOnce(of.told, whys);
}

/// Returns the table of cells with their estimates: levels, verdict, estimate, interval, n and reason, and on the page
/// bound and drawing. Stages: collect the values that are shown, find out which columns have content, then fill the
/// rows.
Table cellTable(const Plan& plan, const Subject& of, const std::vector<CellEstimate>& estimates, std::string label) {
  Table table{.label = std::move(label), .all = estimates.size(), .one_row = "cell"};
  std::vector<GridCell> cells;
  std::vector<const CellEstimate*> shown;
  for (const CellEstimate& estimate : estimates) {
    // Every row has a drawing, so fewer rows than usual fit on the page.
    if (shown.size() == kMostDrawn) break;
    shown.push_back(&estimate);
    const plan::Cell& planned = of.cells[estimate.cell];
    cells.push_back(gridCell(plan, planned, estimate, of.criterion ? plan::unitOf(*of.criterion, planned) : of.unit));
  }
  if (shown.empty()) return table;
  const plan::Cell& first = of.cells[shown[0]->cell];
  const std::optional<plan::Bound> bound = sharedBound(of);
  // Assertions have subjects of their own, which share no axis.
  const bool several = of.criterion && !of.criterion->assertions.empty();
  if (!several) alignCells(cells, bound ? boundsOf(*bound) : Bounds());
  const Forest drawn =
      several ? Forest() : forest(cells, bound, neutralOf(of, first), first.estimator == Estimator::PairedRatio);
  const auto boundText = [&](const plan::Cell& cell) {
    return cell.bound ? cell.bound->text : bound ? bound->text : "";
  };
  // A comparison has neither verdicts nor bounds, so these columns are left out.
  const bool judged = of.criterion != nullptr;
  const bool bounded =
      std::ranges::any_of(shown, [&](const auto* estimate) { return !boundText(of.cells[estimate->cell]).empty(); });
  const std::vector<std::string> reasons = reasonsOf(plan, of, estimates);
  const bool explained = std::ranges::any_of(reasons | std::views::take(shown.size()),
                                             [](const std::string& why) { return !why.empty(); });

  // Columns appear in the order of the row below; both must be changed together.
  for (const std::string& factor : of.factors) table.columns.push_back({factor, Kind::Label});
  if (several) table.columns.push_back({"claim", Kind::Label});
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
    const CellEstimate& estimate = *shown[i];
    const GridCell& cell = cells[i];
    const plan::Cell& planned = of.cells[estimate.cell];
    const judge::Meaning& meaning = judge::meaningOf(estimate.verdict);
    // A failing part of an exists that holds is not painted as a failure.
    const bool harmless = of.one_was_enough && estimate.verdict == Verdict::Fail;
    // Numbers get digits enough to tell them from the bound.
    const Bounds near = judged ? boundsOf(plan::boundOf(*of.criterion, planned)) : Bounds();
    const EstimateText text = partsOf(cell, near);
    const std::string &why = reasons[i], range = rangeText(cell, near);
    const std::string interval = !range.empty()                                   ? "range " + range
                                 : cell.estimate && std::isfinite(*cell.estimate) ? kNoInterval
                                                                                  : "–";
    Row row{{}, !judged ? "" : harmless ? "none" : meaning.style};
    for (const std::string& level : plan.levelLabels(of.factors, planned)) row.add(level);
    if (several) row.add(of.criterion->assertions[planned.assertion].text);
    if (judged) row.add(std::string(meaning.word)).more = why;
    Cell& value = row.add(text.estimate.empty() ? "–" : text.estimate, Tone::Strong);
    if (cell.published) value.below.push_back(publishedText(cell));
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

/// Returns "95 % intervals" and what widens them, or what is lacking, with the strongest trend that explains it.
std::string intervalsText(const Grid& grid) {
  bool any = false;
  // Values that only rise or fall have no level, so no interval; the strongest trend is reported.
  double trend = 0, correlation = 0;
  for (const auto& row : grid.cells)
    for (const GridCell& cell : row) {
      any |= cell.interval.has_value();
      if (cell.interval) correlation = std::max(correlation, cell.correlation);
      if (std::abs(cell.trend) > std::abs(trend)) trend = cell.trend;
    }
  std::string text = !any               ? "without an interval"
                     : correlation == 0 ? "95 % intervals"
                                        : fmt::format(
                                              "95 % intervals that allow for a correlation of {:.2f} between "
                                              "consecutive trials",
                                              correlation);
  if (trend != 0)
    text += fmt::format("{} values rise or fall over the run (Kendall's tau {:.2f})",
                        any ? ", but not where" : ", since", trend);
  return text;
}

/// Returns the formula of a derived metric, which stands above its numbers.
std::string lawText(const Metric& metric) { return metric.derived ? metric.name + " = " + metric.text : ""; }

/// Says what the numbers of a grid of a metric are.
std::string mannerText(const Grid& grid, const Metric& metric) {
  const bool single = std::ranges::all_of(grid.cells, [](const auto& row) {
    return std::ranges::all_of(row, [](const GridCell& cell) { return cell.n == 1; });
  });
  if (single && !metric.series) return fmt::format("one {} trial each", toString(metric.kind));
  return fmt::format("{}median over {} trials, {}",
                     metric.distribution ? "the median of each run's values; "
                     : metric.series     ? "the last value of each run's series; "
                                         : "",
                     toString(metric.kind), intervalsText(grid));
}

/// Whether two grids make one table: metrics over the same levels, whose numbers are of one kind.
bool joins(const Plan& plan, const Grid& one, const Grid& other) {
  const Metric *metric = plan.findMetric(one.subject), *second = plan.findMetric(other.subject);
  return metric && second && one.column_factor == other.column_factor && one.row_factors == other.row_factors &&
         one.rows == other.rows && (one.column_factor.empty() || one.columns == other.columns) &&
         mannerText(one, *metric) == mannerText(other, *second);
}

/// Returns grids that share their levels as one table: metrics are its columns, or its first label where the levels of
/// a factor are the columns.
Part joinedPart(const Plan& plan, const std::vector<Grid>& grids) {
  if (grids.size() == 1) return gridPart(plan, grids[0], grids[0].subject);
  Part part{.title = joined(textsOf(grids, &Grid::subject)), .blocks = {}};
  std::vector<std::string> laws, better;
  Table table = gridTable(grids[0], part.title);
  const bool across = !grids[0].column_factor.empty();
  if (across) table.columns.insert(table.columns.begin(), {"metric", Kind::Label}), table.rows.clear(), table.all = 0;
  for (const Grid& grid : grids) {
    const Metric& metric = *plan.findMetric(grid.subject);
    if (std::string law = lawText(metric); !law.empty()) laws.push_back(std::move(law));
    if (metric.better)
      better.push_back((*metric.better == plan::Direction::Lower ? "lower " : "higher ") + metric.name);
    Table further = gridTable(grid, grid.subject);
    for (Row& row : further.rows) {
      if (!across) break;
      row.cells.insert(row.cells.begin(), Cell{grid.subject});
      table.rows.push_back(std::move(row));
      ++table.all;
    }
    if (across || &grid == &grids[0]) continue;
    table.columns.push_back(std::move(further.columns.back()));
    for (size_t i = 0; i < table.rows.size(); ++i)
      table.rows[i].cells.push_back(std::move(further.rows[i].cells.back()));
  }
  part.law = joined(laws, "; ");
  part.rest = mannerText(grids[0], *plan.findMetric(grids[0].subject));
  const auto alike = [&](const Grid& grid) {
    return plan.findMetric(grid.subject)->better == plan.findMetric(grids[0].subject)->better;
  };
  if (better.size() == grids.size() && std::ranges::all_of(grids, alike))
    part.rest += better[0].starts_with("lower") ? "; lower is better" : "; higher is better";
  else if (!better.empty())
    part.rest += "; " + listed(better) + (better.size() == 1 ? " is better" : " are better");
  if (!table.rows.empty()) part.blocks.emplace_back(std::move(table));
  return part;
}

}  // namespace

Table criterionCells(const Judged& of, bool open) {
  const auto& [plan, criterion, result] = of;
  std::vector<CellEstimate> cells = result.cells;
  if (open) std::erase_if(cells, [](const auto& cell) { return cell.verdict == Verdict::Pass; });
  const bool one_was_enough = (criterion.claim.kind == plan::Claim::Kind::Exists || plan::isComposed(criterion)) &&
                              result.verdict == Verdict::Pass;
  return cellTable(plan,
                   {criterion.factors, criterion.cells, criterion.unit, &criterion, one_was_enough, lineOf(of).told,
                    intervalTitle(of)},
                   cells, result.name + " in each cell");
}

std::vector<Block> comparisonParts(const Plan& plan, const Judgement& judgement) {
  std::vector<Block> parts;
  for (const Comparison& comparison : plan.comparisons) {
    const auto* result = base::named(judgement.comparisons, comparison.name);
    if (!result) continue;
    Part part{.title = comparison.name, .law = comparison.text, .blocks = {}};
    if (comparison.cells.empty()) {
      say(part.blocks, {"this selection has no pair of points to compare"});
    } else {
      part.rest = madeOf(comparison.cells[0]);
      part.blocks.emplace_back(
          cellTable(plan, {comparison.factors, comparison.cells, comparison.unit}, result->cells, comparison.name));
    }
    if (std::string lacking = withoutPartnerText(comparison); !lacking.empty()) say(part.blocks, {std::move(lacking)});
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
    for (const GridCell& cell : grid.cells[r]) row.cells.push_back(valueCell(cell));
    table.rows.push_back(std::move(row));
  }
  return table;
}

Part gridPart(const Plan& plan, const Grid& grid, const std::string& title) {
  Part part{.title = title, .blocks = {}};
  if (const Metric* metric = plan.findMetric(grid.subject)) {
    part.law = lawText(*metric);
    part.rest = mannerText(grid, *metric) + "; " +
                (!metric->better                             ? "neither direction is declared better"
                 : *metric->better == plan::Direction::Lower ? "lower is better"
                                                             : "higher is better");
  } else if (grid.comparison) {
    part.law = grid.text;
    const auto* comparison = base::named(plan.comparisons, grid.subject);
    part.rest = madeOf(comparison && !comparison->cells.empty() ? comparison->cells[0] : plan::Cell());
  }
  if (!grid.rows.empty()) part.blocks.emplace_back(gridTable(grid, title));
  return part;
}

std::vector<Block> tableBlocks(const Plan& plan, const Conclusions& judgement, const std::vector<plan::Table>& tables) {
  std::vector<Block> blocks;
  std::vector<Grid> grids;  // that become one table
  const auto add = [&] {
    if (!grids.empty()) blocks.emplace_back(joinedPart(plan, grids));
    grids.clear();
  };
  for (const plan::Table& table : tables) {
    if (auto described = describedTable(plan, judgement.description, table)) {
      add();
      blocks.emplace_back(std::move(*described));
      continue;
    }
    Grid grid = buildGrid(plan, judgement, table.subject, table.by);
    if (!grids.empty() && !joins(plan, grids.back(), grid)) add();
    grids.push_back(std::move(grid));
  }
  add();
  return blocks;
}

Table pointTable(const Plan& plan, const Judgement& judgement, const std::vector<plan::Table>& tables) {
  Table table{.label = "All metrics at all points", .style = "grid", .all = plan.points.size(), .one_row = "point"};
  for (const plan::Factor& factor : plan.factors)
    table.columns.push_back({factor.name, Kind::Label, factor.levels.size() < 2 ? Shown::OnPage : Shown::Everywhere});
  for (const Metric& metric : plan.metrics) {
    const auto shows = [&](const plan::Table& one) { return one.subject == metric.name || one.other == metric.name; };
    table.columns.push_back(
        {metric.name, Kind::Number, std::ranges::any_of(tables, shows) ? Shown::OnPage : Shown::Everywhere});
  }
  for (size_t i = 0; i < plan.points.size() && i < kMostRows; ++i) {
    Row& row = table.rows.emplace_back();
    for (size_t f = 0; f < plan.factors.size(); ++f) row.add(plan.levelLabel(plan.points[i], f));
  }
  for (const Metric& metric : plan.metrics) {
    const std::vector<GridCell> cells = metricColumn(plan, judgement, metric, table.rows.size());
    for (size_t i = 0; i < table.rows.size(); ++i) {
      Cell cell = valueCell(cells[i]);
      // One small line below each value keeps this table, which may be very wide, low.
      cell.more = fmt::format("{}{}", fmt::join(cell.below, " "), cell.more);
      cell.below.clear();
      table.rows[i].cells.push_back(std::move(cell));
    }
  }
  return table;
}

}  // namespace expc::report
