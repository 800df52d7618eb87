#pragma once

// Results for programs: each record as an object of its members, under their names. Lists come last, so that they know
// the records of all that stand above them.

#include <llvm/ADT/StringRef.h>
#include <llvm/Support/JSON.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/analysis/attribution.h"
#include "runtime/analysis/description.h"
#include "runtime/analysis/judgement.h"
#include "runtime/analysis/sides.h"
#include "runtime/plan/json.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/stats/interval.h"
#include "runtime/stats/spreads.h"
#include "runtime/store/records.h"

namespace expc::report {

/// What follows knows all that this header describes: truths, whole numbers, words of enumerations, text (of any
/// bytes), and lists, maps and optional ones.
template <typename T>
llvm::json::Value json(const T& value);
/// An object of `values`, under `names` as EXPC_FIELDS writes them.
template <typename... T>
llvm::json::Object fieldsOf(llvm::StringRef names, const T&... values);
/// Of members and variables, each under its own name: `EXPC_FIELDS(one.low, one.high)` is {"low": …, "high": …}.
#define EXPC_FIELDS(...) ::expc::report::fieldsOf(#__VA_ARGS__, __VA_ARGS__)

inline llvm::json::Value json(double value) { return plan::jsonNumber(value); }

inline llvm::json::Value json(const stats::Interval& one) { return EXPC_FIELDS(one.low, one.high, one.confidence); }

inline llvm::json::Value json(const stats::Spreads& one) {
  return EXPC_FIELDS(one.within, one.between, one.sessions, one.apart);
}

inline llvm::json::Value json(const analysis::Scope& one) {
  return EXPC_FIELDS(one.planned, one.complete, one.lost, one.sessions, one.nodes);
}

inline llvm::json::Value json(const analysis::Look& one) {
  return EXPC_FIELDS(one.before, one.now, one.of, one.confidence, one.unread, one.decided_at);
}

inline llvm::json::Value json(const analysis::Condition& one) {
  static constexpr std::string_view kCodes[] = {"independent", "correlated",   "lost alike",
                                                "one session", "two sessions", "single arm"};
  const std::string_view code = kCodes[static_cast<size_t>(one.code)];
  return EXPC_FIELDS(code, one.number);
}

inline llvm::json::Value json(const analysis::NextStep& one) {
  static constexpr std::string_view kReach[] = {"decides", "intervals",     "out of reach",
                                                "trend",   "not simulated", "sessions"};
  const std::string_view reach = kReach[static_cast<size_t>(one.reach)];
  std::optional towards = one.towards;
  if (one.towards == analysis::Verdict::Inconclusive) towards.reset();
  const auto sessions = one.sessions ? std::optional(one.sessions) : std::nullopt;
  return EXPC_FIELDS(reach, one.blocks, one.repetitions, one.seconds, towards, sessions);
}

inline llvm::json::Value json(const analysis::ControlResult& one) {
  const char* by = one.ratio ? "ratio" : "difference";
  return EXPC_FIELDS(one.name, one.point, one.metric, by, one.estimate.estimate, one.estimate.interval,
                     one.estimate.scope, one.margin, one.untrusted);
}

inline llvm::json::Value json(const analysis::UntilState& one) {
  const unsigned repetitions = one.blocks;
  return EXPC_FIELDS(one.kind, one.until.subject, one.until.half_width, one.until.relative, one.widest, one.where,
                     repetitions, one.most, one.met);
}

inline llvm::json::Value json(const analysis::PointStatus& one) {
  const auto timeout_limit = one.timeouts ? std::optional(one.limit) : std::nullopt;
  const unsigned timeouts_superseded = one.superseded;
  const bool unstable = one.unstable();
  return EXPC_FIELDS(one.kind, one.planned, one.valid, one.failed, one.timeouts, timeout_limit, timeouts_superseded,
                     one.infeasible, one.invalid, unstable, one.memory_reason, one.lacking, one.last_reason);
}

inline llvm::json::Value json(const MissingThing& one) { return EXPC_FIELDS(one.what, one.why, one.verdict); }

inline llvm::json::Value json(const analysis::LevelEffect& one) {
  const std::vector<std::string>& levels = one.labels;
  return EXPC_FIELDS(levels, one.ratio, one.interval);
}

inline llvm::json::Value json(const analysis::FactorEffect& one) {
  return EXPC_FIELDS(one.factors, one.share, one.levels);
}

inline llvm::json::Value json(const analysis::Effects& one) {
  llvm::json::Array grid;
  for (const auto& [factor, levels] : one.grid) grid.push_back(EXPC_FIELDS(factor, levels));
  return EXPC_FIELDS(one.metric, grid, one.points, one.left_out, one.blocks, one.mean, one.effects, one.higher,
                     one.between_blocks, one.error);
}

inline llvm::json::Value json(const analysis::Ranked& one) {
  return EXPC_FIELDS(one.point, one.rank, one.median, one.n);
}

inline llvm::json::Value json(const analysis::Ranking& one) { return EXPC_FIELDS(one.metric, one.points); }

inline llvm::json::Value json(const analysis::Front& one) {
  const std::vector<std::string> metrics = {one.first, one.second};
  std::vector<std::string> points;
  for (const analysis::FrontPoint& point : one.points) points.push_back(point.point);
  return EXPC_FIELDS(metrics, points, one.beaten);
}

inline llvm::json::Value json(const analysis::Drift& one) {
  const std::optional<double> first_block = one.first;
  const double drift = one.last;
  return EXPC_FIELDS(one.metric, one.blocks, first_block, drift, one.p);
}

inline llvm::json::Value json(const analysis::Outlier& one) {
  return EXPC_FIELDS(one.metric, one.point, one.trial, one.block, one.value, one.median);
}

inline llvm::json::Value json(const analysis::Description& one) {
  const std::vector<analysis::Drift>& over_the_run = one.drifts;
  return EXPC_FIELDS(one.effects, one.rankings, one.fronts, over_the_run, one.outliers);
}

inline llvm::json::Value json(const analysis::CategoryShare& one) {
  llvm::json::Object object = EXPC_FIELDS(one.name, one.treated, one.baseline, one.interval, one.share);
  if (one.treated_count + one.baseline_count > 0) {
    object["treated_count"] = one.treated_count;
    object["baseline_count"] = one.baseline_count;
  }
  if (one.beside) object["beside"] = true;
  return object;
}

inline llvm::json::Value json(const analysis::TimedEffect& one) {
  return EXPC_FIELDS(one.comparison, one.interval, one.may_be_none);
}

/// Times in seconds; intervals are of the difference. Every category of every view.
inline llvm::json::Value json(const analysis::Attribution& one) {
  llvm::json::Object views, notes;
  for (const analysis::AttributionView& view : one.views) {
    views[view.name] = json(view.categories);
    if (const std::string note = noteOf(view); !note.empty()) notes[view.name] = note;
  }
  const double treated_step = one.treated_seconds, baseline_step = one.baseline_seconds;
  const bool may_be_none = one.mayBeNone() != nullptr;
  return EXPC_FIELDS(one.treated, one.baseline, one.comparisons, one.criteria, one.blocks, treated_step, baseline_step,
                     one.interval, one.timed, may_be_none, views, notes);
}

inline llvm::json::Value json(const analysis::Shift& one) {
  const char* by = one.ratio ? "ratio" : "difference";
  const bool undecided = one.open;
  return EXPC_FIELDS(one.subject, one.label, one.comparison, one.unit, one.before, one.after, one.before_n, one.after_n,
                     by, one.estimate, one.interval, one.p, one.moved, one.tellable, one.by_session, undecided,
                     one.worse, one.regression);
}

inline llvm::json::Value json(const simulate::MetricModel& one) {
  static constexpr std::string_view kFrom[] = {"assumed", "stated", "measured"};
  const std::string_view from = kFrom[static_cast<size_t>(one.origin)];
  const std::string& metric = one.name;
  const bool relative = one.multiplies;
  return EXPC_FIELDS(metric, one.kind, one.noise, one.drift, relative, from, one.trials);
}

inline llvm::json::Value json(const simulate::Chances& one) { return EXPC_FIELDS(one.pass, one.fail, one.open); }

inline llvm::json::Value json(const simulate::Sweep& one) {
  const double half_widths = one.distance;
  return EXPC_FIELDS(half_widths, one.value, one.chances);
}

inline llvm::json::Value json(const simulate::CriterionDiagnosis& one) {
  if (const std::string skipped = inWords({}, one.skipped).text; !skipped.empty())
    return EXPC_FIELDS(one.name, skipped);
  std::optional<llvm::json::Value> known;
  if (const std::string& from = one.known; !from.empty()) known = EXPC_FIELDS(from, one.least, one.most);
  const double by_control = one.untrusted, by_budget = one.cut_off, half_width = one.reach;
  const llvm::json::Object kept_open = EXPC_FIELDS(by_control, by_budget);
  return EXPC_FIELDS(one.name, known, one.timeouts, one.chances, one.coverage, kept_open, half_width, one.sweeps,
                     one.passes_from, one.fails_from);
}

inline llvm::json::Value json(const simulate::DesignDiagnosis& one) {
  const auto& repetitions = one.most;
  return EXPC_FIELDS(repetitions, one.blocks, one.trials, one.seconds, one.criteria);
}

inline llvm::json::Value json(const plan::Metric& one) {
  llvm::json::Object object = EXPC_FIELDS(one.name, one.unit, one.dimension, one.kind);
  if (one.derived) object["derived"] = json(one.text);
  if (one.series) object["series"] = true;
  return object;
}

inline llvm::json::Value json(const store::Worker& one) { return EXPC_FIELDS(one.build, one.environment_class); }

inline llvm::json::Value json(const store::Session& one) {
  const std::string host = one.where.machine();
  const bool null_cards = one.onNullCards();
  const double opened = one.opened.wall, last_seen = one.last_seen.wall;
  return EXPC_FIELDS(one.id, host, one.where.nodes, one.where.lane, one.workers, null_cards, opened, last_seen);
}

/// The expected findings of a design ("expc.diagnosis/1").
inline llvm::json::Value diagnosisJson(const plan::Plan& plan, const simulate::Diagnosis& diagnosis) {
  const char* schema = "expc.diagnosis/1";
  const simulate::Model& model = diagnosis.model;
  const std::vector<simulate::MetricModel>& noise = model.metrics;
  std::vector<llvm::json::Value> without_value;  // the points of which trials end so
  for (const auto& [kind, ends] : model.ends)
    for (size_t i = 0; i < ends.size(); ++i) {
      const std::string& point = plan.points[i].id;
      const double infeasible = ends[i].infeasible, timeouts = ends[i].timeouts;
      if (infeasible + timeouts > 0) without_value.emplace_back(EXPC_FIELDS(kind, point, infeasible, timeouts));
    }
  return EXPC_FIELDS(schema, plan.study, diagnosis.studies, diagnosis.seed, noise, model.lost, model.disturbed,
                     without_value, diagnosis.design, diagnosis.larger);
}

template <typename T>
llvm::json::Value json(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(toString(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return plan::jsonText(llvm::StringRef(std::string_view(value)));
  } else if constexpr (std::is_same_v<T, llvm::json::Value> || std::is_same_v<T, llvm::json::Object> ||
                       std::is_same_v<T, llvm::json::Array>) {
    return T(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? json(*value) : llvm::json::Value(nullptr);
  } else if constexpr (requires { typename T::mapped_type; }) {
    llvm::json::Object object;
    for (const auto& [key, one] : value) object[std::string(toString(key))] = json(one);
    return object;
  } else {
    llvm::json::Array array;
    for (const auto& one : value) array.push_back(json(one));
    return array;
  }
}

template <typename... T>
llvm::json::Object fieldsOf(llvm::StringRef names, const T&... values) {
  llvm::json::Object object;
  const auto next = [&] {
    const auto [first, rest] = names.split(", ");
    names = rest;
    return first.substr(first.find_last_of(".>") + 1);
  };
  ((object[next()] = json(values)), ...);
  return object;
}

/// The judgement as JSON ("expc.report/1"), self-explaining: cells by the labels of their factors, values in base
/// units. What was `rehearsed` stands apart, and only where there is something. Values that are not finite (a timeout
/// is worse than every value) are the strings "inf" and "-inf".
llvm::json::Value resultJson(const analysis::Findings& findings, const rehearsal::Study* rehearsed = nullptr);

/// Writes the same as text. Where it is not to be `whole`, values of single runs and blocks and the ids of cells'
/// points are left out, which are most of it in a large study.
void writeResultJson(llvm::raw_ostream& out, const analysis::Findings& findings, const rehearsal::Study* rehearsed,
                     bool whole);

}  // namespace expc::report
