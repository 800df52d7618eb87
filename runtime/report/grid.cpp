#include "runtime/report/grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/description.h"
#include "runtime/analysis/format.h"
#include "runtime/analysis/readings.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/find.h"
#include "runtime/report/layout.h"
#include "runtime/report/verdict_text.h"
#include "runtime/report/wording.h"

namespace expc::report {
namespace {

/// A value and the level of each of the subject's factors, as plan::Cell has them.
struct Entry {
  std::vector<unsigned> levels;
  GridCell cell;
};

/// Whether the workers said that the device cannot give the metric, or one that it is computed from.
bool lacksOnDevice(const plan::Plan& plan, const analysis::PointStatus& status, const std::string& metric) {
  const plan::Metric* declared = plan.findMetric(metric);
  if (declared && declared->derived) {
    const auto parts = plan::metricTerms(*declared->derived);
    return std::ranges::any_of(parts, [&](const auto& part) { return lacksOnDevice(plan, status, part.metric); });
  }
  return std::ranges::find(status.not_on_device, metric) != status.not_on_device.end();
}

/// Whether some trial of the point has ended, of whatever kind and however.
bool wasTried(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Point& point) {
  return std::ranges::any_of(plan.design.kinds, [&](const plan::KindDesign& design) {
    const analysis::PointStatus* status = judgement.status(point.id, design.kind);
    return status && status->valid + status->failed + status->timeouts + status->infeasible + status->invalid > 0;
  });
}

/// Whether every value of a metric at a point diverged, and neither end of it is the worse one.
bool divergedAt(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Point& point,
                const plan::Metric& metric) {
  const std::string what = metric.name + " at " + analysis::placeLabel(plan, &point);
  return std::ranges::any_of(judgement.missing, [&](const analysis::Missing& one) {
    return one.why && one.why->code == plan::Reason::Diverged && one.what == what;
  });
}

std::string whyMissing(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Point& point,
                       const plan::Metric& metric) {
  if (!point.unavailable.empty()) return "not available";
  if (!point.expected_infeasible.empty() && !wasTried(plan, judgement, point))
    return "expected infeasible, not started";
  const analysis::PointStatus* status = judgement.status(point.id, metric.kind);
  if (!status) return "not run";
  if (status->valid > 0 && lacksOnDevice(plan, *status, metric.name)) return "not on this device";
  if (status->valid > 0) return divergedAt(plan, judgement, point, metric) ? "diverged" : "not measured";
  if (status->infeasible > 0) return "infeasible";
  if (status->timeouts > 0) return status->limit > 0 ? "timeout after " + durationText(status->limit) : "timeout";
  if (status->failed > 0) return "failed";
  return status->invalid > 0 ? "disturbed" : "not run";
}

std::vector<Entry> metricEntries(const plan::Plan& plan, const analysis::Judgement& judgement,
                                 const plan::Metric& metric) {
  std::vector<Entry> entries;
  for (const plan::Point& point : plan.points)
    entries.push_back({point.levels, metricCell(plan, judgement, point, metric)});
  return entries;
}

std::vector<Entry> comparisonEntries(const plan::Plan& plan, const analysis::Judgement& judgement,
                                     const plan::Comparison& comparison) {
  std::vector<Entry> entries;
  const auto* result = plan::named(judgement.comparisons, comparison.name);
  if (!result) return entries;
  for (const analysis::CellEstimate& estimate : result->cells)
    if (estimate.cell < comparison.cells.size())
      entries.push_back(
          {comparison.cells[estimate.cell].levels, gridCell(plan, comparison.cells[estimate.cell], estimate)});
  return entries;
}

/// The scale and the operands of a ratio of two places of one metric; null where a term is something else.
const plan::OperationTerm* ratioOf(const plan::Term& term, double& scale) {
  if (const auto* scaled = std::get_if<plan::ScaleTerm>(&term.node)) {
    scale *= scaled->factor;
    return ratioOf(*scaled->term, scale);
  }
  const auto* operation = std::get_if<plan::OperationTerm>(&term.node);
  return operation && operation->op == plan::OperationTerm::Op::Ratio ? operation : nullptr;
}

/// Sets the ideal of entries of a metric, one for each point of the plan, of which a comparison says what it would be:
/// its baseline's estimate times what the comparison would be. The factor that it compares over, or "".
std::string addIdeals(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Metric& metric,
                      std::vector<Entry>& entries) {
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < plan.points.size(); ++i) places[plan.points[i].id] = i;
  for (const plan::Comparison& comparison : plan.comparisons) {
    bool found = false;
    for (const plan::Cell& cell : comparison.cells) {
      double scale = 1;
      const plan::OperationTerm* ratio = cell.ideal ? ratioOf(*cell.term, scale) : nullptr;
      if (!ratio) break;
      const auto* treated = std::get_if<plan::MetricTerm>(&ratio->operands[0]->node);
      const auto* baseline = std::get_if<plan::MetricTerm>(&ratio->operands[1]->node);
      // The baseline of a time stands above: its ideal is no line over what divides it.
      if (!treated || !baseline || treated->metric != metric.name || treated->place != cell.points[0]) break;
      const analysis::Summary* start = judgement.find(baseline->place.point, metric.name);
      if (!start || !start->median) continue;
      entries[places.at(treated->place.point)].cell.ideal = *start->median * *cell.ideal / scale;
      entries[places.at(baseline->place.point)].cell.ideal = start->median;
      found = true;
    }
    if (found) return comparison.over;
  }
  return "";
}

/// Names of `by` that the subject has, after those that vary and are not named.
std::vector<size_t> layoutFactors(const std::vector<std::string>& factors, const std::vector<Entry>& entries,
                                  const std::vector<std::string>& by) {
  std::vector<size_t> order;
  for (size_t i = 0; i < factors.size(); ++i) {
    std::set<unsigned> seen;
    for (const Entry& entry : entries) seen.insert(entry.levels[i]);
    if (seen.size() > 1 && !std::ranges::count(by, factors[i])) order.push_back(i);
  }
  for (const std::string& name : by) {
    const auto found = std::ranges::find(factors, name);
    if (found == factors.end()) continue;
    const size_t index = static_cast<size_t>(found - factors.begin());
    if (!std::ranges::count(order, index)) order.push_back(index);
  }
  return order;
}

double magnitudeOf(const std::optional<double>& estimate) {
  return estimate && std::isfinite(*estimate) ? std::fabs(*estimate) : 0;
}

/// The number of each row or column by its levels, in the order in which the study declares them.
using Places = std::map<std::vector<unsigned>, size_t>;

void fillGrid(const plan::Plan& plan, Grid& grid, const std::vector<std::string>& factors, std::vector<Entry> entries,
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
    return plan.levelLabel(static_cast<size_t>(plan::findNamed(plan.factors, factors[factor])), level);
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
  double largest = 0;
  for (const Entry& entry : entries) largest = std::max(largest, magnitudeOf(entry.cell.estimate));
  for (Entry& entry : entries) {
    entry.cell.beside = largest;
    grid.cells[rows.at(keyOf(entry, down))][columns.at(keyOf(entry, across))] = std::move(entry.cell);
  }
}

/// Other outcomes of the point's trials: ", 2 timed out after 10 s, unstable: out of memory in 1 block"; "" if there
/// are none.
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

GridCell metricCell(const plan::Plan& plan, const analysis::Judgement& judgement, const plan::Point& point,
                    const plan::Metric& metric) {
  const analysis::Summary* summary = judgement.find(point.id, metric.name);
  GridCell cell;
  if (summary && summary->n > 0)
    cell = {summary->median,   summary->interval, summary->n,        summary->timeouts,
            summary->constant, summary->values,   summary->outliers, ""};
  else
    cell.note = whyMissing(plan, judgement, point, metric);
  if (summary) cell.never = summary->never, cell.diverged = summary->diverged, cell.trend = summary->trend;
  const analysis::PointStatus* status = judgement.status(point.id, metric.kind);
  if (status) cell.limit = status->limit;
  if (summary && status && status->unstable()) cell.out_of_memory = status->infeasible;
  cell.published = analysis::publishedValue(plan, point, metric);
  return cell;
}

double largestOf(const std::vector<analysis::CellEstimate>& estimates) {
  double largest = 0;
  for (const analysis::CellEstimate& one : estimates) largest = std::max(largest, magnitudeOf(one.estimate));
  return largest;
}

GridCell gridCell(const plan::Plan& plan, const plan::Cell& planned, const analysis::CellEstimate& estimate,
                  double beside) {
  GridCell cell;
  cell.estimate = estimate.estimate;
  cell.interval = estimate.interval;
  cell.n = estimate.scope.complete;
  cell.constant = estimate.constant;
  cell.values = estimate.values;
  cell.diverged = estimate.diverged;
  if (!estimate.estimate) cell.note = estimate.why ? inWords(plan, estimate.why).text : "not run";
  cell.beside = beside;
  if (planned.term) cell.published = analysis::publishedValue(plan, *planned.term);
  cell.ideal = planned.ideal;
  return cell;
}

Grid buildGrid(const plan::Plan& plan, const analysis::Judgement& judgement, const std::string& subject,
               const std::vector<std::string>& by) {
  Grid grid;
  grid.subject = subject;
  if (const plan::Metric* metric = plan.findMetric(subject)) {
    grid.unit = metric->unit;
    grid.dimension = metric->dimension;
    const auto factors = textsOf(plan.factors, &plan::Factor::name);
    std::vector<Entry> entries = metricEntries(plan, judgement, *metric);
    grid.ideal_over = addIdeals(plan, judgement, *metric, entries);
    fillGrid(plan, grid, factors, std::move(entries), by);
    return grid;
  }
  for (const plan::Comparison& comparison : plan.comparisons) {
    if (comparison.name != subject) continue;
    grid.text = comparison.text;
    grid.unit = comparison.unit;
    grid.comparison = true;
    const auto known = [](const plan::Cell& cell) { return cell.ideal.has_value(); };
    if (std::ranges::any_of(comparison.cells, known)) grid.ideal_over = comparison.over;
    if (!comparison.cells.empty()) {
      grid.dimension = std::string(analysis::dimensionOf(plan, comparison.cells[0]));
      grid.neutral = comparison.cells[0].estimator == plan::Estimator::PairedDifference ? 0.0 : 1.0;
    }
    fillGrid(plan, grid, comparison.factors, comparisonEntries(plan, judgement, comparison), by);
  }
  return grid;
}

analysis::EstimateText partsOf(const GridCell& cell, const std::string& unit, const std::string& dimension,
                               std::span<const double> bounds) {
  if (cell.diverged && cell.estimate && std::isinf(*cell.estimate)) {
    const bool whole = cell.interval && std::isinf(cell.interval->low) && std::isinf(cell.interval->high);
    return {"diverged", !cell.interval || whole
                            ? ""
                            : analysis::formatInterval(*cell.interval, unit, dimension, bounds, cell.beside)};
  }
  if (cell.estimate && cell.interval && !cell.constant)
    return analysis::formatParts(*cell.estimate, *cell.interval, unit, dimension, bounds, cell.beside);
  analysis::EstimateText text;
  if (cell.estimate) text.estimate = analysis::formatAgainst(*cell.estimate, bounds, unit, dimension, cell.beside);
  if (cell.constant)
    text.interval = "constant";
  else if (cell.interval)
    text.interval = analysis::formatInterval(*cell.interval, unit, dimension, bounds, cell.beside);
  return text;
}

Cell valueCell(const GridCell& cell, const std::string& unit, const std::string& dimension) {
  const analysis::EstimateText text = partsOf(cell, unit, dimension);
  Cell shown{text.estimate, {}, {}, Tone::Strong};
  if (cell.estimate) {
    const bool interval = !text.interval.empty() && !cell.constant;
    const std::string n = "n=" + std::to_string(cell.n);
    shown.below.push_back((interval ? text.interval : (cell.constant ? "constant, " : "") + n) + asideText(cell));
    if (interval) shown.more = ", " + n;
    if (!cell.outliers.empty()) shown.more += ", " + counted(cell.outliers.size(), "outlier");
  } else {
    shown = {!text.interval.empty() ? text.interval : cell.note.empty() ? "—" : cell.note, {}, {}, Tone::Quiet};
  }
  if (cell.published) shown.below.push_back(publishedText(cell, unit, dimension));
  return shown;
}

std::string publishedText(const GridCell& cell, const std::string& unit, const std::string& dimension) {
  return cell.published
             ? fmt::format("(published {})", analysis::formatAgainst(*cell.published, {}, unit, dimension, cell.beside))
             : "";
}

std::vector<plan::Table> defaultTables(const plan::Plan& plan) {
  if (!plan.tables.empty() || !plan.plots.empty()) return {};
  std::vector<std::string> varying;
  for (const plan::Factor& factor : plan.factors)
    if (factor.levels.size() > 1) varying.push_back(factor.name);
  std::vector<plan::Table> tables;
  for (const std::string& metric : analysis::mentionedMetrics(plan)) {
    plan::Table& table = tables.emplace_back();
    table.subject = metric;
    if (varying.size() > 1) table.by = {varying.back(), varying.front()};
  }
  return tables;
}

}  // namespace expc::report
