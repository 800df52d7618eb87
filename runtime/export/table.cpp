#include "runtime/export/table.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>
#include <set>
#include <utility>

#include "runtime/analysis/readings.h"
#include "runtime/plan/find.h"
#include "runtime/report/layout.h"
#include "runtime/report/wording.h"

namespace expc::exports {
namespace {

/// The subject of a row, whose cells borrow from here.
struct Said {
  const plan::Plan& plan;
  const store::Trial& trial;
  const plan::Point* point;  // null: the plan has none such
  std::string_view label;    // of that
  bool counts;
  const store::Session* session;  // null: not known, as with the block
  const store::Block* block;
  std::string notes, host, seed;
  // Of this row alone:
  std::string_view name = {};            // of the metric or the series; "": there is none
  const plan::Metric* metric = nullptr;  // null: the plan has none such
  Cell value = {};
  bool diverged = false;
  int64_t step = 0;
};

/// A column and what it says.
struct Described {
  Column column;
  std::function<Cell(const Said&)> cell;
};

/// None for an empty text.
Cell textOrNone(std::string_view text) { return text.empty() ? Cell() : Cell(text); }

// What a row says of its trial, in both tables; the measurements say more of it.
const Described kWhat[] = {
    {{"study", Type::Text, "the study that the export was asked for"},
     [](const Said& of) -> Cell { return of.plan.study; }},
    {{"point", Type::Text, "the point's id: 16 hex digits of its workload and parameters"},
     [](const Said& of) -> Cell { return of.trial.place().point; }},
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
const Described kMetric[] = {
    {{"metric", Type::Text, "the metric's name; empty of a trial without any value"},
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
    {{"value", Type::Real, "the value in base units; of a series the last; empty: there is none"},
     [](const Said& of) { return of.value; }},
    {{"diverged", Type::Truth, "whether the value is not finite, so that it counts as worse than every other"},
     [](const Said& of) { return of.name.empty() ? Cell() : Cell(of.diverged); }},
};
const Described kTrial[] = {
    {{"status", Type::Text, "valid, failed, timeout, infeasible (out of memory) or invalid (disturbed)"},
     [](const Said& of) -> Cell { return toString(of.trial.status); }},
    {{"reason", Type::Text, "why it is not valid; empty of a valid one"},
     [](const Said& of) { return textOrNone(of.trial.reason); }},
    {{"notes", Type::Text, "what was noted of it, a line each"}, [](const Said& of) { return textOrNone(of.notes); }},
    {{"run", Type::Integer, "the run that started it; 0: not known"},
     [](const Said& of) -> Cell { return of.trial.run; }},
    {{"session", Type::Integer, "one stay on one machine; only trials of one session are compared"},
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
    {{"attempt", Type::Integer, "1, or more where earlier attempts of the place did not end well"},
     [](const Said& of) -> Cell { return int64_t(of.trial.attempt); }},
    {{"started", Type::Time, "when it started, by the wall clock in UTC: a label, since anyone may set that clock"},
     [](const Said& of) -> Cell { return UnixTime{of.trial.started}; }},
    {{"seconds", Type::Real, "how long it took, start and end of the worker included"},
     [](const Said& of) -> Cell { return of.trial.seconds; }},
    {{"time_limit", Type::Real, "the seconds that it was given at most; empty: not known"},
     [](const Said& of) { return of.trial.limit > 0 ? Cell(of.trial.limit) : Cell(); }},
    {{"devices", Type::Text, "JSON: the slots that it used"},
     [](const Said& of) { return textOrNone(of.trial.devices); }},
    {{"settings", Type::Text, "JSON: the settings of its kind, such as steps and warm-up"},
     [](const Said& of) -> Cell { return of.trial.key->settings; }},
    {{"worker_build", Type::Text, "the program that measured"},
     [](const Said& of) -> Cell { return of.trial.key->worker_build; }},
    {{"environment_class", Type::Text, "what the machine is like; trials of two classes never count together"},
     [](const Said& of) -> Cell { return of.trial.key->environment_class; }},
    {{"data_digest", Type::Text, "of the data, program and inputs that it read; empty: none"},
     [](const Said& of) { return textOrNone(of.trial.key->data); }},
    {{"null_cards", Type::Truth, "whether it ran on cards that compute nothing, so that it measured nothing"},
     [](const Said& of) -> Cell { return of.trial.onNullCards(); }},
};
const Described kValue[] = {
    {{"series", Type::Text, "the name of the series: a metric, or what a worker recorded beside them"},
     [](const Said& of) -> Cell { return of.name; }},
    {{"unit", Type::Text, "the base unit of the values; empty: a share, a count, or not known"},
     [](const Said& of) { return of.metric ? textOrNone(of.metric->unit) : Cell(); }},
    {{"step", Type::Integer, "the place in the series, from 1: epochs, or steps that were logged"},
     [](const Said& of) -> Cell { return of.step; }},
    {{"value", Type::Real, "the value"}, [](const Said& of) { return of.value; }},
};

Type typeOf(const plan::Factor& factor) {
  Type type = Type::Integer;
  for (const plan::Level& level : factor.levels) {
    if (!level.value.getAsNumber()) return Type::Text;
    if (!level.value.getAsInteger()) type = Type::Real;
  }
  return factor.levels.empty() ? Type::Text : type;
}

/// What holds values of both.
Type common(Type first, Type second) {
  if (first == second) return first;
  return first == Type::Text || second == Type::Text ? Type::Text : Type::Real;
}

/// None where the study has no such factor, or it is not active at the point.
Cell levelCell(const Said& of, const std::string& factor, Type type) {
  const plan::Factor* found = plan::named(of.plan.factors, factor);
  const size_t at = found ? size_t(found - of.plan.factors.data()) : SIZE_MAX;
  if (!of.point || at >= of.point->levels.size() || of.point->levels[at] == plan::kInactive) return {};
  const plan::Level& level = found->levels[of.point->levels[at]];
  if (type == Type::Integer) return level.value.getAsInteger().value_or(0);
  if (type == Type::Real) return level.value.getAsNumber().value_or(0);
  return std::string_view(level.value.getAsString().value_or(level.label));
}

/// The factors of several studies: a number in base units where every level of the factor is one, else the level as it
/// is written, a string without its quotes. Those of one name share a column.
std::vector<Described> factorsOf(std::span<const Source> sources) {
  report::InOrder<std::string, Type> factors;
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

using Emit = llvm::function_ref<void()>;

/// A row for every metric that a trial has a value of, or said that its device cannot give: those of the plan in its
/// order, then what else was measured of it. A trial that is not valid has no derived ones.
void metricRows(Said& of, Emit emit) {
  const auto put = [&](std::string_view name, Cell value, bool diverged) {
    of.name = name;
    of.diverged = diverged;
    of.metric = of.plan.findMetric(name);
    of.value = value;
    emit();
  };
  for (const plan::Metric& metric : of.plan.metrics) {
    if (metric.kind != of.trial.key->kind) continue;
    if (metric.derived && of.trial.status != store::TrialStatus::Valid) continue;
    const auto reading = analysis::readMetric(of.plan, of.point, of.trial, metric.name);
    const auto read = of.trial.metrics.find(metric.name);
    if (reading.worst.diverged)  // as the program wrote it
      put(metric.name, read == of.trial.metrics.end() ? std::nan("") : read->second, true);
    else if (reading.value)
      put(metric.name, *reading.value, false);
  }
  for (const auto& [name, value] : of.trial.metrics)
    if (!of.plan.findMetric(name)) put(name, value, !std::isfinite(value));
  for (const std::string& name : of.trial.not_on_device) put(name, Cell(), false);
  if (of.name.empty()) emit();
}

void valueRows(Said& of, Emit emit) {
  for (const auto& [name, values] : of.trial.series) {
    of.name = name;
    of.metric = of.plan.findMetric(name);
    of.step = 0;
    for (const double value : values) {
      ++of.step;
      of.value = value;
      emit();
    }
  }
}

/// Null where there is none.
const auto* entryOf(const auto& all, const auto& key) {
  const auto found = all.find(key);
  return found == all.end() ? nullptr : &found->second;
}

/// Of the parts and the factors; `rows` makes those of one trial.
Table tableOf(const char* name, std::span<const Source> sources,
              std::initializer_list<std::span<const Described>> parts, void (*rows)(Said&, Emit)) {
  std::vector<Described> described;
  for (const auto part : parts) described.insert(described.end(), part.begin(), part.end());
  for (Described& factor : factorsOf(sources)) described.push_back(std::move(factor));
  Table table{name};
  for (const Described& one : described) table.columns.push_back(one.column);
  table.rows = [=](llvm::function_ref<void(Row)> take) {
    std::vector<Cell> row(described.size());
    for (const auto& [plan, results, judgement, history] : sources) {
      std::set<int64_t> counting;
      for (const store::Trial& trial : results.trials) counting.insert(trial.id);
      std::map<std::string_view, std::pair<const plan::Point*, std::string>> points;  // with their labels
      for (const plan::Point& point : plan.points) points[point.id] = {&point, plan.label(point)};
      for (const store::Trial& trial : history.trials) {
        const auto* point = entryOf(points, trial.place().point);
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
        rows(of, [&] {
          std::ranges::transform(described, row.begin(), [&](const Described& one) { return one.cell(of); });
          take(row);
        });
      }
    }
  };
  return table;
}

}  // namespace

std::string_view toString(Type type) {
  static constexpr std::string_view kWords[] = {"text", "integer", "real", "truth", "time"};
  return kWords[static_cast<size_t>(type)];
}

std::string timeText(UnixTime time) {
  // A foreign store may hold any number; years of five digits are no dates.
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
