// Builds grids: collects the values of a metric or comparison with the labels of their factors, decides which factor
// goes where, and fills rows and columns in the order of the levels. Also formats a value with everything that belongs
// below it, so that each medium shows the same.

#include "runtime/report/grid.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/numbers.h"
#include "runtime/describe/description.h"
#include "runtime/describe/ideals.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/format.h"
#include "runtime/judge/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/report/paint.h"
#include "runtime/report/reasons.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// A value, with its level for each of the subject's factors, as plan::Cell has them.
struct Entry {
  std::vector<unsigned> levels;
  GridCell cell;
  std::string_view point = {};
};

/// The metric, or one that it is computed from, if workers said that they cannot give it; else "".
std::string lacked(const Plan& plan, const PointStatus& status, const std::string& metric) {
  const Metric* declared = plan.findMetric(metric);
  if (declared && declared->derived) {
    for (const MetricTerm& part : plan::metricTerms(*declared->derived))
      if (std::string name = lacked(plan, status, part.metric); !name.empty()) return name;
    return "";
  }
  return is_contained(status.not_on_device, metric) ? metric : "";
}

/// Whether a trial of the point has ended, of whatever kind and however.
bool wasTried(const Plan& plan, const Judgement& judgement, const Point& point) {
  return std::ranges::any_of(plan.design.kinds, [&](const KindDesign& design) {
    const PointStatus* status = judgement.status(point.id, design.kind);
    return status && status->valid + status->failed + status->timeouts + status->infeasible + status->invalid > 0;
  });
}

/// Whether every value of a metric at a point diverged, and the metric has no better direction that would rank these as
/// the worst.
bool divergedAt(const Plan& plan, const Judgement& judgement, const Point& point, const Metric& metric) {
  const std::string what = metric.name + " at " + judge::placeLabel(plan, &point);
  return std::ranges::any_of(judgement.missing, [&](const judge::Missing& one) {
    return one.why && one.why->code == plan::Reason::Diverged && one.what == what;
  });
}

/// Returns why a metric has no value at a point, in a few words; reasons that were known before the run come first.
std::string whyMissing(const Plan& plan, const Judgement& judgement, const Point& point, const Metric& metric) {
  if (!point.unavailable.empty()) return "not available";
  if (!point.expected_infeasible.empty() && !wasTried(plan, judgement, point))
    return "expected infeasible, not started";
  const PointStatus* status = judgement.status(point.id, metric.kind);
  if (!status) return "not run";
  // If trials ran, the reason lies in the metric; else in how they ended.
  const std::string lack = status->valid > 0 ? lacked(plan, *status, metric.name) : "";
  if (!lack.empty()) return plan.readsInOutput(lack) ? "not in the output" : "not on this device";
  if (status->valid > 0) return divergedAt(plan, judgement, point, metric) ? "diverged" : "not measured";
  if (status->infeasible > 0) return "infeasible";
  if (status->timeouts > 0) return status->limit > 0 ? "timeout after " + durationText(status->limit) : "timeout";
  if (status->failed > 0) return "failed";
  return status->invalid > 0 ? "disturbed" : "not run";
}

/// Returns the values of a metric, one for each point that tells it, in the plan's order. A process's value has no
/// level of inside factors.
std::vector<Entry> metricEntries(const Plan& plan, const Judgement& judgement, const Metric& metric) {
  std::vector<Entry> entries;
  for (const Point& point : plan.points)
    if (plan.tells(metric, point))
      entries.push_back({metric.of_process ? plan.startedFor(point).levels : point.levels,
                         metricCell(plan, judgement, point, metric), point.id});
  return entries;
}

/// Returns the values of a comparison, one for each estimated cell.
std::vector<Entry> comparisonEntries(const Plan& plan, const Judgement& judgement, const Comparison& comparison) {
  std::vector<Entry> entries;
  const auto* result = base::named(judgement.comparisons, comparison.name);
  if (!result) return entries;
  for (const CellEstimate& estimate : result->cells)
    if (estimate.cell < comparison.cells.size())
      entries.push_back({comparison.cells[estimate.cell].levels,
                         gridCell(plan, comparison.cells[estimate.cell], estimate, comparison.unit)});
  return entries;
}

/// Returns the order of factors in a layout, as indices: those that vary and are not in `by` come first, then those in
/// `by`. The last one becomes the columns.
std::vector<size_t> layoutFactors(const std::vector<std::string>& factors, const std::vector<Entry>& entries,
                                  const std::vector<std::string>& by) {
  std::vector<size_t> order;
  for (size_t i = 0; i < factors.size(); ++i) {
    std::set<unsigned> seen;
    for (const Entry& entry : entries) seen.insert(entry.levels[i]);
    if (seen.size() > 1 && !is_contained(by, factors[i])) order.push_back(i);
  }
  for (const std::string& name : by) {
    const int index = base::findNamed(factors, name);
    if (index >= 0) base::addOnce(order, size_t(index));
  }
  return order;
}

/// The number of each row or column by its levels, in the order in which the study declares them.
using Places = std::map<std::vector<unsigned>, size_t>;

/// Lays entries out in the grid. Each entry has a place of its own, since all factors that vary are in the layout.
void fillGrid(const Plan& plan, Grid& grid, const std::vector<std::string>& factors, std::vector<Entry> entries,
              const std::vector<std::string>& by) {
  std::vector<size_t> down = layoutFactors(factors, entries, by), across;
  if (down.size() > 1) {
    across = {down.back()};
    down.pop_back();
    grid.column_factor = factors[across[0]];
  }
  for (const size_t factor : down) grid.row_factors.push_back(factors[factor]);
  const auto keyOf = [](const Entry& entry, const std::vector<size_t>& of) {
    std::vector<unsigned> key;
    for (const size_t factor : of) key.push_back(entry.levels[factor]);
    return key;
  };
  const auto placesOf = [&](const std::vector<size_t>& of) {
    Places places;
    for (const Entry& entry : entries) places.try_emplace(keyOf(entry, of));
    size_t number = 0;
    for (auto& [key, place] : places) place = number++;
    return places;
  };
  const auto labelOf = [&](size_t factor, unsigned level) {
    return plan.levelLabel(size_t(base::findNamed(plan.factors, factors[factor])), level);
  };
  const Places rows = placesOf(down), columns = placesOf(across);
  for (const auto& [key, number] : rows) {
    std::vector<std::string>& labels = grid.rows.emplace_back();
    for (size_t i = 0; i < down.size(); ++i) labels.push_back(labelOf(down[i], key[i]));
    grid.row_levels.push_back(key);
  }
  for (const auto& [key, number] : columns) {
    grid.columns.push_back(across.empty() ? grid.subject : labelOf(across[0], key[0]));
    if (!across.empty()) grid.column_levels.push_back(key[0]);
  }
  grid.cells.assign(rows.size(), std::vector<GridCell>(columns.size()));
  std::vector<GridCell> cells;
  for (Entry& entry : entries) cells.push_back(std::move(entry.cell));
  alignCells(cells);
  for (size_t i = 0; i < cells.size(); ++i)
    grid.cells[rows.at(keyOf(entries[i], down))][columns.at(keyOf(entries[i], across))] = std::move(cells[i]);
}

/// Returns other outcomes of the point's trials: ", 2 timed out after 10 s, unstable: out of memory in 1 block"; "" if
/// there are none.
std::string asideText(const GridCell& cell) {
  std::string text;
  if (cell.timeouts) text += fmt::format(", {} timed out", cell.timeouts);
  if (cell.timeouts && cell.limit > 0) text += " after " + durationText(cell.limit);
  if (cell.never) text += fmt::format(", {} never got there", cell.never);
  if (cell.diverged) text += fmt::format(", {} diverged", cell.diverged);
  if (cell.out_of_memory) text += fmt::format(", unstable: out of memory in {}", counted(cell.out_of_memory, "block"));
  return text;
}

}  // namespace

GridCell metricCell(const Plan& plan, const Judgement& judgement, const Point& point, const Metric& metric) {
  const judge::Summary* summary = judgement.find(point.id, metric.name);
  GridCell cell;
  if (summary && summary->n > 0)
    cell = {summary->median,   summary->interval, summary->n,        summary->timeouts,
            summary->constant, summary->values,   summary->outliers, ""};
  else
    cell.note = whyMissing(plan, judgement, point, metric);
  if (summary) {
    cell.never = summary->never, cell.diverged = summary->diverged;
    cell.trend = summary->trend, cell.correlation = summary->correlation;
  }
  const PointStatus* status = judgement.status(point.id, metric.kind);
  if (status) cell.limit = status->limit;
  if (summary && status && status->unstable()) cell.out_of_memory = status->infeasible;
  cell.published = judge::publishedValue(plan, point, metric);
  cell.unit = metric.unit, cell.dimension = metric.dimension;
  return cell;
}

std::vector<GridCell> metricColumn(const Plan& plan, const Judgement& judgement, const Metric& metric, size_t most) {
  std::vector<GridCell> cells;
  for (size_t i = 0; i < plan.points.size() && i < most; ++i)
    cells.push_back(metricCell(plan, judgement, plan.points[i], metric));
  alignCells(cells);
  return cells;
}

GridCell gridCell(const Plan& plan, const plan::Cell& planned, const CellEstimate& estimate, const std::string& unit) {
  GridCell cell;
  cell.unit = unit, cell.dimension = judge::dimensionOf(plan, planned);
  cell.estimate = estimate.estimate;
  cell.interval = estimate.interval;
  cell.n = estimate.scope.complete;
  cell.constant = estimate.constant;
  cell.values = estimate.values;
  cell.diverged = estimate.diverged;
  if (!estimate.estimate) cell.note = estimate.why ? inWords(plan, estimate.why).text : "not run";
  if (planned.term) cell.published = judge::publishedValue(plan, *planned.term);
  cell.ideal = planned.ideal;
  return cell;
}

Grid buildGrid(const Plan& plan, const Judgement& judgement, const std::string& subject,
               const std::vector<std::string>& by) {
  Grid grid;
  grid.subject = subject;
  if (const Metric* metric = plan.findMetric(subject)) {
    grid.unit = metric->unit;
    grid.dimension = metric->dimension;
    const auto factors = textsOf(plan.factors, &plan::Factor::name);
    std::vector<Entry> entries = metricEntries(plan, judgement, *metric);
    describe::Ideals ideals = describe::idealsOf(plan, judgement, *metric);
    for (Entry& entry : entries) entry.cell.ideal = valueIn(ideals.at, std::string(entry.point));
    grid.ideal_over = std::move(ideals.over);
    fillGrid(plan, grid, factors, std::move(entries), by);
    return grid;
  }
  for (const Comparison& comparison : plan.comparisons) {
    if (comparison.name != subject) continue;
    grid.text = comparison.text;
    grid.unit = comparison.unit;
    grid.comparison = true;
    const auto known = [](const plan::Cell& cell) { return cell.ideal.has_value(); };
    if (std::ranges::any_of(comparison.cells, known)) grid.ideal_over = comparison.over;
    if (!comparison.cells.empty()) {
      grid.dimension = std::string(judge::dimensionOf(plan, comparison.cells[0]));
      if (plan::isPaired(comparison.cells[0]))
        grid.neutral = comparison.cells[0].estimator == Estimator::PairedDifference ? 0.0 : 1.0;
    }
    fillGrid(plan, grid, comparison.factors, comparisonEntries(plan, judgement, comparison), by);
  }
  return grid;
}

EstimateText partsOf(const GridCell& cell, const Bounds& bounds) {
  const std::string_view unit = cell.unit, dimension = cell.dimension;
  // An estimate that is infinite since trials timed out or values diverged is no number.
  if ((cell.timeouts || cell.diverged) && cell.estimate && std::isinf(*cell.estimate)) {
    const bool whole = cell.interval && std::isinf(cell.interval->low) && std::isinf(cell.interval->high);
    return {cell.timeouts ? "timeout" : "diverged",
            !cell.interval || whole ? "" : formatInterval(*cell.interval, unit, dimension, bounds, cell.column)};
  }
  if (cell.estimate && cell.interval && !cell.constant)
    return formatParts(*cell.estimate, *cell.interval, unit, dimension, bounds, cell.column);
  EstimateText text;
  if (cell.estimate) text.estimate = formatAgainst(*cell.estimate, bounds, unit, dimension, cell.column);
  if (cell.constant)
    text.interval = "constant";
  else if (cell.interval)
    text.interval = formatInterval(*cell.interval, unit, dimension, bounds, cell.column);
  return text;
}

/// Returns an interval without its unit, which the estimate in front of it has: "[11.7, 13.5]" behind "12.4 ms".
static std::string withoutUnit(std::string interval, const std::string& estimate) {
  const size_t end = estimate.find_last_of("0123456789");
  const std::string unit = end == std::string::npos ? "" : estimate.substr(end + 1);
  for (size_t at = 0; !unit.empty() && (at = interval.find(unit, at)) != std::string::npos;)
    interval.erase(at, unit.size());
  return interval;
}

Cell valueCell(const GridCell& cell) {
  const EstimateText text = partsOf(cell);
  Cell shown{text.estimate, {}, {}, Tone::Strong};
  if (cell.estimate) {
    // Either the interval stands below, and n goes to the page only, or n stands below.
    const bool interval = !text.interval.empty() && !cell.constant;
    std::string n = "n=" + std::to_string(cell.n);
    // Too few values for an interval show how far apart they are.
    if (const std::string range = interval ? "" : rangeText(cell); !range.empty()) n = range + ", " + n;
    shown.below.push_back(
        (interval ? withoutUnit(text.interval, text.estimate) : (cell.constant ? "constant, " : "") + n) +
        asideText(cell));
    if (interval) shown.more = ", " + n;
    if (!cell.outliers.empty()) shown.more += ", " + counted(cell.outliers.size(), "outlier");
  } else {
    shown = {!text.interval.empty() ? text.interval : cell.note.empty() ? "—" : cell.note, {}, {}, Tone::Quiet};
  }
  if (cell.published) shown.below.push_back(publishedText(cell));
  return shown;
}

void alignCells(std::vector<GridCell>& cells, const Bounds& bounds) {
  if (cells.empty()) return;
  std::vector<base::ColumnValue> values;
  for (const GridCell& cell : cells)
    if (cell.estimate)
      values.push_back({*cell.estimate, cell.constant ? std::optional<stats::Interval>() : cell.interval});
  const base::ColumnStyle column = base::columnStyle(values, cells[0].unit, cells[0].dimension, bounds);
  for (GridCell& cell : cells) cell.column = column;
}

std::string rangeText(const GridCell& cell, const Bounds& bounds) {
  if (cell.constant || cell.interval || cell.values.size() < 2 || !cell.estimate || !std::isfinite(*cell.estimate))
    return "";
  const auto [least, most] = std::ranges::minmax(cell.values);
  return fromTo(formatParts(*cell.estimate, {least, most, 0}, cell.unit, cell.dimension, bounds, cell.column).interval);
}

std::string publishedText(const GridCell& cell) {
  return cell.published
             ? fmt::format("(published {})", formatAgainst(*cell.published, {}, cell.unit, cell.dimension, cell.column))
             : "";
}

std::vector<plan::Table> defaultTables(const Plan& plan) {
  if (!plan.tables.empty() || !plan.plots.empty()) return {};
  // The first factor makes the columns; the last one stands next to them, as the x of charts.
  std::vector<std::string> varying;
  for (const plan::Factor& factor : plan.factors)
    if (factor.levels.size() > 1) varying.push_back(factor.name);
  std::vector<plan::Table> tables;
  for (const std::string& metric : describe::mentionedMetrics(plan)) {
    plan::Table& table = tables.emplace_back();
    table.subject = metric;
    if (varying.size() > 1) table.by = {varying.back(), varying.front()};
  }
  return tables;
}

}  // namespace expc::report
