// The columns and rows of the two tables. Each column is an entry of a list below: name, type, description, and a
// function that takes its value from the row's subject (Said). Adding a column means adding an entry, and a line in
// docs/export.md. Trials come from the history, in the order of their numbers, and are looked up in the plan, which may
// no longer have their points or metrics.

#include "runtime/export/table.h"

#include <fmt/chrono.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/base/text.h"
#include "runtime/judge/readings.h"
#include "runtime/judge/rows.h"
#include "runtime/plan/sketch.h"
#include "runtime/report/wording.h"

namespace expc::exports {
namespace {

/// The subject of a row. Cells borrow their texts from here, so it lives until the row was written.
struct Said {
  const Plan& plan;
  const Trial& trial;
  /// The trial's point; null if the plan does not have it. `label` names its levels.
  const Point* point;
  std::string_view label;
  /// Whether the report counts the trial.
  bool counts;
  /// The trial's session and block; null if the store lost them.
  const store::Session* session;
  const store::Block* block;
  std::string notes, host, seed;
  // The members below change from row to row.
  /// Name of the metric or series; "" if the trial has none.
  std::string_view name = {};
  /// The plan's metric of that name; null if the plan has none.
  const Metric* metric = nullptr;
  Cell value = {};
  bool diverged = false;
  int64_t step = 0;
};

/// A column and the function that takes its value.
struct Described {
  Column column;
  std::function<Cell(const Said&)> cell;
};

/// Returns a cell with the text, or none if it is empty.
Cell textOrNone(std::string_view text) { return text.empty() ? Cell() : Cell(text); }

// Columns of both tables, about the trial.
const Described kWhat[] = {
    {{"study", Type::Text, "the study that was exported"}, [](const Said& of) -> Cell { return of.plan.study; }},
    {{"point", Type::Text, "the point's id: 16 hex digits of its workload and parameters"},
     [](const Said& of) -> Cell { return of.point ? of.point->id : of.trial.place().point; }},
    {{"label", Type::Text, "the point's levels in one text"},
     [](const Said& of) { return of.point ? Cell(of.label) : Cell(); }},
    {{"control", Type::Text, "the control's name; empty: the point itself"},
     [](const Said& of) { return textOrNone(of.trial.place().control); }},
    {{"kind", Type::Text, "timed, quality or profile"},
     [](const Said& of) -> Cell { return toString(of.trial.key->kind); }},
    {{"trial", Type::Integer, "the trial's number in its results folder"},
     [](const Said& of) -> Cell { return of.trial.id; }},
    {{"counts", Type::Truth, "whether the report counts the trial"}, [](const Said& of) -> Cell { return of.counts; }},
};
// Columns of measurements, about the metric.
const Described kMetric[] = {
    {{"metric", Type::Text, "the metric's name; empty if the trial has no value"},
     [](const Said& of) { return textOrNone(of.name); }},
    {{"unit", Type::Text, "the base unit of the value; empty: a share, a count"},
     [](const Said& of) { return of.metric ? textOrNone(of.metric->unit) : Cell(); }},
    {{"better", Type::Text, "lower or higher"},
     [](const Said& of) -> Cell {
       if (!of.metric || !of.metric->better) return {};
       return std::string_view(*of.metric->better == plan::Direction::Higher ? "higher" : "lower");
     }},
    {{"derived", Type::Truth, "whether the study computes it from others"},
     [](const Said& of) { return of.name.empty() ? Cell() : Cell(of.metric && of.metric->derived); }},
    {{"value", Type::Real, "the value in base units; for a series its last value; empty: no value"},
     [](const Said& of) { return of.value; }},
    {{"diverged", Type::Truth, "whether the value is not finite, so that it counts as worse than every other"},
     [](const Said& of) { return of.name.empty() ? Cell() : Cell(of.diverged); }},
};
// Columns of measurements, about how the trial was run.
const Described kTrial[] = {
    {{"status", Type::Text, "valid, failed, timeout, infeasible (out of memory) or invalid (disturbed)"},
     [](const Said& of) -> Cell { return toString(of.trial.status); }},
    {{"reason", Type::Text, "why the trial is not valid; empty if it is"},
     [](const Said& of) { return textOrNone(of.trial.reason); }},
    {{"notes", Type::Text, "the trial's notes, a line each"}, [](const Said& of) { return textOrNone(of.notes); }},
    {{"run", Type::Integer, "the run that started it; 0: unknown"},
     [](const Said& of) -> Cell { return of.trial.run; }},
    {{"session", Type::Integer, "trials on one machine without a restart; only trials of one session are compared"},
     [](const Said& of) -> Cell { return of.trial.session; }},
    {{"host", Type::Text, "the session's machine"},
     [](const Said& of) { return of.session ? Cell(std::string_view(of.host)) : Cell(); }},
    {{"block", Type::Integer, "the randomised block; trials of one block are pairs"},
     [](const Said& of) -> Cell { return of.trial.block; }},
    {{"block_study", Type::Text, "the study that the block was drawn for"},
     [](const Said& of) { return of.block ? Cell(std::string_view(of.block->study)) : Cell(); }},
    {{"block_number", Type::Integer, "the block's number within its study and kind, from 0"},
     [](const Said& of) { return of.block ? Cell(int64_t(of.block->number)) : Cell(); }},
    {{"seed", Type::Text, "the block's seed, as 0x and 16 hex digits"},
     [](const Said& of) { return textOrNone(of.seed); }},
    {{"position", Type::Integer, "the place in the block's order, from 0"},
     [](const Said& of) -> Cell { return int64_t(of.trial.position); }},
    {{"attempt", Type::Integer, "1, or more if earlier attempts failed or were disturbed"},
     [](const Said& of) -> Cell { return int64_t(of.trial.attempt); }},
    {{"started", Type::Time, "the start, by the wall clock in UTC: a label, since anyone may set that clock"},
     [](const Said& of) -> Cell { return UnixTime{of.trial.started}; }},
    {{"seconds", Type::Real, "the duration, start and end of the worker included"},
     [](const Said& of) -> Cell { return of.trial.seconds; }},
    {{"time_limit", Type::Real, "the time limit in seconds; empty: unknown"},
     [](const Said& of) { return of.trial.limit > 0 ? Cell(of.trial.limit) : Cell(); }},
    {{"devices", Type::Text, "JSON: the slots that it used"},
     [](const Said& of) { return textOrNone(of.trial.devices); }},
    {{"settings", Type::Text, "JSON: the settings of its kind, such as steps and warm-up"},
     [](const Said& of) -> Cell { return of.trial.key->settings; }},
    {{"worker_build", Type::Text, "the program that measured"},
     [](const Said& of) -> Cell { return of.trial.key->worker_build; }},
    {{"environment_class", Type::Text, "the kind of machine; trials of two classes never count together"},
     [](const Said& of) -> Cell { return of.trial.key->environment_class; }},
    {{"data_digest", Type::Text, "digest of the data, program and inputs that it read; empty: none"},
     [](const Said& of) { return textOrNone(of.trial.key->data); }},
    {{"null_cards", Type::Truth, "whether it ran on simulated GPUs, so that it measured nothing"},
     [](const Said& of) -> Cell { return of.trial.onNullCards(); }},
};
// Columns of series, about the value.
const Described kValue[] = {
    {{"series", Type::Text, "the name of the series: a metric, or another series that a worker recorded"},
     [](const Said& of) -> Cell { return of.name; }},
    {{"unit", Type::Text, "the base unit of the values; empty: a share, a count, or unknown"},
     [](const Said& of) { return of.metric ? textOrNone(of.metric->unit) : Cell(); }},
    {{"step", Type::Integer, "the place in the series, from 1: epochs, or steps that were logged"},
     [](const Said& of) -> Cell { return of.step; }},
    {{"value", Type::Real, "the value"}, [](const Said& of) { return of.value; }},
};

/// Returns the narrowest type for all levels of a factor.
Type typeOf(const plan::Factor& factor) {
  Type type = Type::Integer;
  for (const plan::Level& level : factor.levels) {
    if (!level.value.getAsNumber()) return Type::Text;
    if (!level.value.getAsInteger()) type = Type::Real;
  }
  return factor.levels.empty() ? Type::Text : type;
}

/// Returns the type that holds values of both.
Type common(Type first, Type second) {
  if (first == second) return first;
  return first == Type::Text || second == Type::Text ? Type::Text : Type::Real;
}

/// Returns the level of a factor at the row's point; none if the study has no such factor, or it is not active there.
Cell levelCell(const Said& of, const std::string& factor, Type type) {
  const plan::Factor* found = base::named(of.plan.factors, factor);
  const size_t at = found ? size_t(found - of.plan.factors.data()) : SIZE_MAX;
  if (!of.point || at >= of.point->levels.size() || of.point->levels[at] == plan::kInactive) return {};
  const plan::Level& level = found->levels[of.point->levels[at]];
  // The column's type may be wider than this study's levels, if another study has the factor, too.
  if (type == Type::Integer) return level.value.getAsInteger().value_or(0);
  if (type == Type::Real) return level.value.getAsNumber().value_or(0);
  return std::string_view(level.value.getAsString().value_or(level.label));
}

/// Returns a column for each name of a factor in any study. It is a number in base units if every level is a number,
/// else the level as the study writes it, a string without its quotes. Factors of the same name share a column.
std::vector<Described> factorsOf(std::span<const Source> sources) {
  base::InOrder<std::string, Type> factors;
  for (const Source& source : sources)
    for (const plan::Factor& factor : source.plan.factors) {
      const auto [known, fresh] = factors.try_emplace(factor.name, typeOf(factor));
      if (!fresh) known->second = common(known->second, typeOf(factor));
    }
  std::vector<Described> columns;
  for (const auto& [name, type] : factors)
    columns.push_back(
        {{"factor_" + name, type,
          type == Type::Text
              ? "the point's level, as the study writes it but without quotes; empty where it is not active"
              : "the point's level in base units; empty where it is not active"},
         [name = name, type = type](const Said& of) { return levelCell(of, name, type); }});
  return columns;
}

/// Called for each row once its subject is complete.
using Emit = function_ref<void()>;

/// Emits a row for every metric of which the trial has a value, or said that its device cannot give one: first those of
/// the plan, in its order, then whatever else was measured. A trial that is not valid has no derived metrics.
void metricRows(Said& of, Emit emit) {
  const auto put = [&](std::string_view name, Cell value, bool diverged) {
    of.name = name;
    of.diverged = diverged;
    of.metric = of.plan.findMetric(name);
    of.value = value;
    emit();
  };
  for (const Metric& metric : of.plan.metrics) {
    // A metric belongs to one kind of trial.
    if (metric.kind != of.trial.key->kind) continue;
    if (metric.derived && of.trial.status != TrialStatus::Valid) continue;
    const auto reading = judge::readMetric(of.plan, of.point, of.trial, metric.name);
    // A diverged value is exported as the program wrote it (inf or nan); the judgement counts it as worst.
    if (reading.worst.diverged)
      put(metric.name, valueIn(of.trial.metrics, metric.name).value_or(std::nan("")), true);
    else if (reading.value)
      put(metric.name, *reading.value, false);
  }
  for (const auto& [name, value] : of.trial.metrics)
    if (!of.plan.findMetric(name)) put(name, value, !std::isfinite(value));
  for (const std::string& name : of.trial.not_on_device) put(name, Cell(), false);
  // No value at all: one row still says that there was a trial, and how it ended.
  if (of.name.empty()) emit();
}

/// Emits a row for every value of every series, and for every percentile of a distribution; steps count from 1.
void valueRows(Said& of, Emit emit) {
  for (const auto& [name, stored] : of.trial.series) {
    of.name = name;
    of.metric = of.plan.findMetric(name);
    of.step = 0;
    const bool sketch = of.metric && of.metric->distribution;
    const std::vector<double> values = sketch ? plan::percentilesOf(stored) : stored;
    for (const double value : values) {
      ++of.step;
      of.value = value;
      emit();
    }
  }
}

/// Returns the table with the columns of `parts` and of all factors; `rows` emits the rows of one trial. Lookups are
/// built once for each study, since a history may have a million trials.
Table tableOf(const char* name, std::span<const Source> sources,
              std::initializer_list<std::span<const Described>> parts, void (*rows)(Said&, Emit)) {
  std::vector<Described> described;
  for (const auto part : parts) described.insert(described.end(), part.begin(), part.end());
  for (Described& factor : factorsOf(sources)) described.push_back(std::move(factor));
  Table table{name};
  for (const Described& one : described) table.columns.push_back(one.column);
  table.rows = [=](function_ref<void(Row)> take) {
    std::vector<Cell> row(described.size());
    for (const auto& [plan, results, judgement, history] : sources) {
      // The history holds every trial; those among the results count.
      std::set<int64_t> counting;
      for (const Trial& trial : results.trials) counting.insert(trial.id);
      std::map<std::string_view, std::pair<const Point*, std::string>> points;  // with their labels
      for (const Point& point : plan.points) points[point.id] = {&point, plan.label(point)};
      const auto tell = [&](const Point* measured, const Trial& trial) {
        const auto* point = measured ? entryOf(points, measured->id) : nullptr;
        const store::Session* session = entryOf(history.sessions, trial.session);
        const store::Block* block = entryOf(history.blocks, trial.block);
        Said of{plan,
                trial,
                point ? point->first : nullptr,
                point ? point->second : std::string_view(),
                counting.contains(trial.id),
                session,
                block,
                report::joined(report::textsOf(trial.notes, report::noteText), "\n"),
                session ? session->where.machine() : "",
                block ? fmt::format("{:#018x}", block->seed) : ""};
        // The row's cells are reused: `take` must be done with them before it returns.
        rows(of, [&] {
          std::ranges::transform(described, row.begin(), [&](const Described& one) { return one.cell(of); });
          take(row);
        });
      };
      for (const Trial& trial : history.trials) judge::forEachPoint(plan, trial, tell);
    }
  };
  return table;
}

}  // namespace

std::string_view toString(Type type) {
  static constexpr std::string_view kWords[] = {"text", "integer", "real", "truth", "time"};
  return kWords[size_t(type)];
}

std::string timeText(UnixTime time) {
  // A stranger's store may hold any number; years of five digits are no dates of ISO 8601.
  const double last = 253402300799;
  const int64_t all = std::isfinite(time.seconds) ? std::llround(std::min(std::max(time.seconds, 0.0), last) * 1e6) : 0;
  const std::time_t whole = all / 1000000;
  std::tm parts{};
  gmtime_r(&whole, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, all % 1000000);
}

Table measurements(std::span<const Source> sources) {
  return tableOf("measurements", sources, {kWhat, kMetric, kTrial}, metricRows);
}

Table series(std::span<const Source> sources) { return tableOf("series", sources, {kWhat, kValue}, valueRows); }

}  // namespace expc::exports
