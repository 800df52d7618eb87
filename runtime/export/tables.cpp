#include "runtime/export/tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "runtime/analysis/readings.h"

namespace expc::exports {
namespace {

// What a row says of its trial, in both tables; the measurements say more of it.
const std::vector<Column> kWhat = {
    {"study", Type::Text, "the study that the export was asked for"},
    {"point", Type::Text, "the point's id: 16 hex digits of its workload and parameters"},
    {"label", Type::Text, "the point's levels in one text"},
    {"control", Type::Text, "the control's name; empty: the point itself"},
    {"kind", Type::Text, "timed, quality or profile"},
    {"trial", Type::Integer, "the trial's number in its results folder"},
    {"counts", Type::Truth, "whether the report counts the trial"},
};
const std::vector<Column> kTrial = {
    {"status", Type::Text, "valid, failed, timeout, infeasible (out of memory) or invalid (disturbed)"},
    {"reason", Type::Text, "why it is not valid; empty of a valid one"},
    {"notes", Type::Text, "what was noted of it, a line each"},
    {"run", Type::Integer, "the run that started it; 0: not known"},
    {"session", Type::Integer, "one stay on one machine; only trials of one session are compared"},
    {"host", Type::Text, "the session's machine"},
    {"block", Type::Integer, "the randomised block; trials of one block are pairs"},
    {"block_study", Type::Text, "the study that the block was drawn for"},
    {"block_number", Type::Integer, "the block's number within its study and kind, from 0"},
    {"seed", Type::Text, "the block's seed, as 0x and 16 hex digits"},
    {"position", Type::Integer, "the place in the block's order, from 0"},
    {"attempt", Type::Integer, "1, or more where earlier attempts of the place did not end well"},
    {"started", Type::Time, "when it started, by the wall clock in UTC: a label, since anyone may set that clock"},
    {"seconds", Type::Real, "how long it took, start and end of the worker included"},
    {"time_limit", Type::Real, "the seconds that it was given at most; empty: not known"},
    {"devices", Type::Text, "JSON: the slots that it used"},
    {"settings", Type::Text, "JSON: the settings of its kind, such as steps and warm-up"},
    {"worker_build", Type::Text, "the program that measured"},
    {"environment_class", Type::Text, "what the machine is like; trials of two classes never count together"},
    {"data_digest", Type::Text, "of the data, program and inputs that it read; empty: none"},
    {"null_cards", Type::Truth, "whether it ran on cards that compute nothing, so that it measured nothing"},
};
const std::vector<Column> kMetric = {
    {"metric", Type::Text, "the metric's name; empty of a trial without any value"},
    {"unit", Type::Text, "the base unit of the value; empty: a share, a count"},
    {"better", Type::Text, "lower or higher"},
    {"derived", Type::Truth, "whether the study computes it from others"},
    {"value", Type::Real, "the value in base units; of a series the last; empty: there is none"},
};
const std::vector<Column> kValue = {
    {"series", Type::Text, "the name of the series: a metric, or what a worker recorded beside them"},
    {"unit", Type::Text, "the base unit of the values; empty: a share, a count, or not known"},
    {"step", Type::Integer, "the place in the series, from 1: epochs, or steps that were logged"},
    {"value", Type::Real, "the value"},
};

std::vector<Column> joined(std::initializer_list<const std::vector<Column>*> parts) {
  std::vector<Column> columns;
  for (const auto* part : parts) columns.insert(columns.end(), part->begin(), part->end());
  return columns;
}

std::string_view text(const std::string& text) { return text; }

/// None for an empty text.
Cell textOrNone(const std::string& text) { return text.empty() ? Cell() : Cell(std::string_view(text)); }

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

/// The factors of several studies as columns: a number in base units where every level of the factor is one, else the
/// level as it is written, a string without its quotes. Those of one name share a column. Refers to the sources, which
/// must outlive it.
class Factors {
 public:
  explicit Factors(std::span<const Source> sources) {
    for (const Source& source : sources)
      for (const plan::Factor& factor : source.plan.factors) {
        const auto [at, fresh] = at_.try_emplace(factor.name, columns_.size());
        if (fresh)
          columns_.push_back({"factor_" + factor.name, typeOf(factor), ""});
        else
          columns_[at->second].type = common(columns_[at->second].type, typeOf(factor));
      }
    for (Column& column : columns_)
      column.what = column.type == Type::Text
                        ? "the point's level, as the study writes it but without quotes; empty where it is not active"
                        : "the point's level in base units; empty where it is not active";
  }

  const std::vector<Column>& columns() const { return columns_; }
  /// The point's levels, a cell for each column; none where the study has no such factor, or it is not active there.
  std::vector<Cell> cells(const plan::Plan& plan, const plan::Point& point) const {
    std::vector<Cell> cells(columns_.size());
    for (size_t i = 0; i < plan.factors.size() && i < point.levels.size(); ++i) {
      const auto at = at_.find(plan.factors[i].name);
      if (point.levels[i] == plan::kInactive || at == at_.end()) continue;
      const plan::Level& level = plan.factors[i].levels[point.levels[i]];
      Cell& cell = cells[at->second];
      switch (columns_[at->second].type) {
        case Type::Integer:
          cell = level.value.getAsInteger().value_or(0);
          break;
        case Type::Real:
          cell = level.value.getAsNumber().value_or(0);
          break;
        default:
          cell = std::string_view(level.value.getAsString().value_or(level.label));
      }
    }
    return cells;
  }

 private:
  std::vector<Column> columns_;
  std::map<std::string, size_t, std::less<>> at_;  // by the factor's name
};

/// Hands the trials of one study on, with the cells that all their rows share.
class Rows {
 public:
  Rows(const Source& source, const Factors& factors) : source_(source), factors_(factors) {
    for (const store::Trial& trial : source.results.trials) counting_.insert(trial.id);
    for (const plan::Point& point : source.plan.points) points_[point.id] = {&point, source.plan.label(point)};
  }

  /// What `kWhat` lists.
  void what(std::vector<Cell>& row, const store::Trial& trial) {
    const auto point = points_.find(trial.place().point);
    row.emplace_back(text(source_.plan.study));
    row.emplace_back(text(trial.place().point));
    row.push_back(point == points_.end() ? Cell() : Cell(text(point->second.second)));
    row.push_back(textOrNone(trial.place().control));
    row.emplace_back(toString(trial.key->kind));
    row.emplace_back(trial.id);
    row.emplace_back(counting_.contains(trial.id));
  }

  /// What `kTrial` lists.
  void trial(std::vector<Cell>& row, const store::Trial& trial) {
    const auto session = source_.history.sessions.find(trial.session);
    const auto block = source_.history.blocks.find(trial.block);
    const bool has_block = block != source_.history.blocks.end();
    notes_ = fmt::format("{}", fmt::join(trial.notes, "\n"));
    host_ = session == source_.history.sessions.end() ? "" : session->second.where.machine();
    seed_ = has_block ? fmt::format("{:#018x}", block->second.seed) : "";
    row.emplace_back(toString(trial.status));
    row.push_back(textOrNone(trial.reason));
    row.push_back(textOrNone(notes_));
    row.emplace_back(trial.run);
    row.emplace_back(trial.session);
    row.push_back(session == source_.history.sessions.end() ? Cell() : Cell(text(host_)));
    row.emplace_back(trial.block);
    row.push_back(has_block ? Cell(text(block->second.study)) : Cell());
    row.push_back(has_block ? Cell(static_cast<int64_t>(block->second.number)) : Cell());
    row.push_back(textOrNone(seed_));
    row.emplace_back(int64_t(trial.position));
    row.emplace_back(int64_t(trial.attempt));
    row.emplace_back(UnixTime{trial.started});
    row.emplace_back(trial.seconds);
    row.push_back(trial.limit > 0 ? Cell(trial.limit) : Cell());
    row.push_back(textOrNone(trial.devices));
    row.emplace_back(text(trial.key->settings));
    row.emplace_back(text(trial.key->worker_build));
    row.emplace_back(text(trial.key->environment_class));
    row.push_back(textOrNone(trial.key->data));
    row.emplace_back(trial.onNullCards());
  }

  void factors(std::vector<Cell>& row, const store::Trial& trial) {
    const auto point = points_.find(trial.place().point);
    const auto cells = point == points_.end() ? std::vector<Cell>(factors_.columns().size())
                                              : factors_.cells(source_.plan, *point->second.first);
    row.insert(row.end(), cells.begin(), cells.end());
  }

  /// Every metric that a trial has a value of, or said that its device cannot give: those of the plan in its order,
  /// then what else was measured of it. A trial that is not valid has no derived ones.
  std::vector<std::pair<std::string_view, Cell>> values(const store::Trial& trial) const {
    std::vector<std::pair<std::string_view, Cell>> values;
    std::set<std::string_view> of_plan;
    const auto at = points_.find(trial.place().point);
    const plan::Point* point = at == points_.end() ? nullptr : at->second.first;
    for (const plan::Metric& metric : source_.plan.metrics) {
      of_plan.insert(metric.name);
      if (metric.kind != trial.key->kind) continue;
      if (metric.derived && trial.status != store::TrialStatus::Valid) continue;
      if (const auto reading = analysis::readMetric(source_.plan, point, trial, metric.name); reading.value)
        values.emplace_back(metric.name, *reading.value);
    }
    for (const auto& [name, value] : trial.metrics)
      if (!of_plan.contains(name)) values.emplace_back(name, value);
    for (const std::string& name : trial.not_on_device) values.emplace_back(name, Cell());
    return values;
  }

 private:
  const Source& source_;
  const Factors& factors_;
  std::set<int64_t> counting_;
  std::map<std::string, std::pair<const plan::Point*, std::string>> points_;  // with their labels
  std::string notes_, host_, seed_;                                           // of the row that is made
};

void measurementsOf(const Source& source, const Factors& factors, Sink& sink) {
  Rows rows(source, factors);
  std::vector<Cell> row;
  for (const store::Trial& trial : source.history.trials) {
    auto values = rows.values(trial);
    if (values.empty()) values.emplace_back();
    row.clear();
    rows.what(row, trial);
    const auto metric_at = static_cast<std::ptrdiff_t>(row.size());
    row.resize(row.size() + kMetric.size());
    rows.trial(row, trial);
    rows.factors(row, trial);
    for (const auto& [name, value] : values) {
      const plan::Metric* metric = source.plan.findMetric(name);
      const Cell cells[] = {
          name.empty() ? Cell() : Cell(name), metric ? textOrNone(metric->unit) : Cell(),
          metric && metric->better
              ? Cell(std::string_view(*metric->better == plan::Direction::Higher ? "higher" : "lower"))
              : Cell(),
          name.empty() ? Cell() : Cell(metric && metric->derived), value};
      std::copy(std::begin(cells), std::end(cells), row.begin() + metric_at);
      sink.row(row);
    }
  }
}

void seriesOf(const Source& source, const Factors& factors, Sink& sink) {
  Rows rows(source, factors);
  std::vector<Cell> row;
  for (const store::Trial& trial : source.history.trials) {
    for (const auto& [name, values] : trial.series) {
      const plan::Metric* metric = source.plan.findMetric(name);
      row.clear();
      rows.what(row, trial);
      row.emplace_back(text(name));
      row.push_back(metric ? textOrNone(metric->unit) : Cell());
      const size_t step_at = row.size();
      row.resize(row.size() + 2);
      rows.factors(row, trial);
      for (size_t i = 0; i < values.size(); ++i) {
        row[step_at] = int64_t(i + 1);
        row[step_at + 1] = values[i];
        sink.row(row);
      }
    }
  }
}

}  // namespace

std::vector<Column> measurementColumns(std::span<const Source> sources) {
  const Factors factors(sources);
  return joined({&kWhat, &kMetric, &kTrial, &factors.columns()});
}

std::vector<Column> seriesColumns(std::span<const Source> sources) {
  const Factors factors(sources);
  return joined({&kWhat, &kValue, &factors.columns()});
}

void writeMeasurements(std::span<const Source> sources, Sink& sink) {
  const Factors factors(sources);
  sink.begin(kMeasurements, measurementColumns(sources));
  for (const Source& source : sources) measurementsOf(source, factors, sink);
  sink.end();
}

void writeSeries(std::span<const Source> sources, Sink& sink) {
  const Factors factors(sources);
  sink.begin(kSeries, seriesColumns(sources));
  for (const Source& source : sources) seriesOf(source, factors, sink);
  sink.end();
}

}  // namespace expc::exports
