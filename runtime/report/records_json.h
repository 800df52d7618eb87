#pragma once

// JSON of results for programs ("expc.report/1", "expc.diagnosis/1"): each record is an object of its members under
// their own names, so that a name is written once. If the JSON name differs, a local variable of that name is made
// first. A list comes after the record of its elements, since json() of a container needs the overload for these.

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

#include "runtime/base/json.h"
#include "runtime/describe/attribution.h"
#include "runtime/describe/description.h"
#include "runtime/describe/sides.h"
#include "runtime/judge/results.h"
#include "runtime/report/reasons.h"
#include "runtime/report/sections.h"
#include "runtime/report/verdict_text.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/stats/interval.h"
#include "runtime/stats/spreads.h"
#include "runtime/store/records.h"

namespace expc::report {

/// Converts any value that this header describes: truths, whole numbers, enumerations by toString(), text (of any
/// bytes), and optional values, lists and maps of these.
template <typename T>
llvm::json::Value json(const T& value);
/// Returns an object of `values`, under `names` as EXPC_FIELDS writes them.
template <typename... T>
llvm::json::Object fieldsOf(llvm::StringRef names, const T&... values);
/// Makes an object of members and variables, each under its own name: `EXPC_FIELDS(one.low, one.high)` is {"low": …,
/// "high": …}.
#define EXPC_FIELDS(...) ::expc::report::fieldsOf(#__VA_ARGS__, __VA_ARGS__)

inline llvm::json::Value json(double value) { return base::jsonNumber(value); }

// Numbers are in base units (seconds, bytes, fractions) unless a comment says otherwise; ratios have no unit.
inline llvm::json::Value json(const stats::Interval& one) { return EXPC_FIELDS(one.low, one.high, one.confidence); }

/// `within` and `between` are standard deviations, of logarithms for ratios.
inline llvm::json::Value json(const stats::Spreads& one) {
  return EXPC_FIELDS(one.within, one.between, one.sessions, one.apart);
}

/// Counts of pairs or trials, by the cell that has the fewest.
inline llvm::json::Value json(const judge::Scope& one) {
  return EXPC_FIELDS(one.planned, one.complete, one.lost, one.sessions, one.nodes);
}

/// `before` and `now` are repetitions; `confidence` is that of each interval, so that all analyses together keep the
/// criterion's.
inline llvm::json::Value json(const judge::Look& one) {
  return EXPC_FIELDS(one.before, one.now, one.of, one.confidence, one.unread, one.decided_at);
}

/// `number` depends on the code: a correlation, or a number of lost trials. The words of codes are part of the format.
inline llvm::json::Value json(const judge::Condition& one) {
  static constexpr std::string_view kCodes[] = {"independent", "correlated",   "lost alike",
                                                "one session", "two sessions", "single arm"};
  const std::string_view code = kCodes[static_cast<size_t>(one.code)];
  return EXPC_FIELDS(code, one.number);
}

inline llvm::json::Value json(const judge::NextStep& one) {
  static constexpr std::string_view kReach[] = {"decides", "intervals",     "out of reach",
                                                "trend",   "not simulated", "sessions"};
  const std::string_view reach = kReach[static_cast<size_t>(one.reach)];
  // Absent if most simulated studies stay open.
  std::optional towards = one.towards;
  // No direction is known.
  if (one.towards == judge::Verdict::Inconclusive) towards.reset();
  const auto sessions = one.sessions ? std::optional(one.sessions) : std::nullopt;
  return EXPC_FIELDS(reach, one.blocks, one.repetitions, one.seconds, towards, sessions);
}

/// The estimate compares the later run with the earlier one, or a run alone with its point; `margin` is half the
/// smallest claimed gap.
inline llvm::json::Value json(const judge::ControlResult& one) {
  const char* by = one.ratio ? "ratio" : "difference";
  return EXPC_FIELDS(one.name, one.point, one.metric, by, one.estimate.estimate, one.estimate.interval,
                     one.estimate.scope, one.margin, one.untrusted);
}

/// `widest` and `half_width` are shares of the estimate if `relative`.
inline llvm::json::Value json(const judge::UntilState& one) {
  const unsigned repetitions = one.blocks;
  return EXPC_FIELDS(one.kind, one.until.subject, one.until.half_width, one.until.relative, one.widest, one.where,
                     repetitions, one.most, one.met);
}

/// Failed, timed out and disturbed trials count with every attempt, the others in blocks; `timeout_limit` is in
/// seconds.
inline llvm::json::Value json(const judge::PointStatus& one) {
  const auto timeout_limit = one.timeouts ? std::optional(one.limit) : std::nullopt;
  const unsigned timeouts_superseded = one.superseded;
  const bool unstable = one.unstable();
  return EXPC_FIELDS(one.kind, one.planned, one.valid, one.failed, one.timeouts, timeout_limit, timeouts_superseded,
                     one.infeasible, one.invalid, unstable, one.memory_reason, one.lacking, one.last_reason);
}

inline llvm::json::Value json(const MissingThing& one) { return EXPC_FIELDS(one.what, one.why, one.verdict); }

/// `ratio` is the geometric mean at these levels over what the grid and lesser effects give.
inline llvm::json::Value json(const describe::LevelEffect& one) {
  const std::vector<std::string>& levels = one.labels;
  return EXPC_FIELDS(levels, one.ratio, one.interval);
}

/// `share` is that of the sum of squares of logarithms.
inline llvm::json::Value json(const describe::FactorEffect& one) {
  return EXPC_FIELDS(one.factors, one.share, one.levels);
}

/// `mean` is geometric, in the metric's unit; the shares of effects, `higher`, `between_blocks` and `error` add up to
/// 1.
inline llvm::json::Value json(const describe::Effects& one) {
  llvm::json::Array grid;
  for (const auto& [factor, levels] : one.grid) grid.push_back(EXPC_FIELDS(factor, levels));
  return EXPC_FIELDS(one.metric, grid, one.points, one.left_out, one.blocks, one.mean, one.effects, one.higher,
                     one.between_blocks, one.error);
}

/// `rank` counts from 1; points that tie share it, and it is absent with too few blocks.
inline llvm::json::Value json(const describe::Ranked& one) {
  return EXPC_FIELDS(one.point, one.rank, one.median, one.n);
}

inline llvm::json::Value json(const describe::Ranking& one) { return EXPC_FIELDS(one.metric, one.points); }

/// `beaten` is the number of points that another one beats in both metrics.
inline llvm::json::Value json(const describe::Front& one) {
  const std::vector<std::string> metrics = {one.first, one.second};
  std::vector<std::string> points;
  for (const describe::FrontPoint& point : one.points) points.push_back(point.point);
  return EXPC_FIELDS(metrics, points, one.beaten);
}

/// Ratios: `first_block` over the median of the others (absent without a warm-up), `drift` of the last block over the
/// first by the trend.
inline llvm::json::Value json(const describe::Drift& one) {
  const std::optional<double> first_block = one.first;
  const double drift = one.last;
  return EXPC_FIELDS(one.metric, one.blocks, first_block, drift, one.p);
}

inline llvm::json::Value json(const describe::Outlier& one) {
  return EXPC_FIELDS(one.metric, one.point, one.trial, one.block, one.value, one.median);
}

/// Members as in describe::Description; fronts of plots alone are left out.
inline llvm::json::Value json(const describe::Description& one) {
  const std::vector<describe::Drift>& over_the_run = one.drifts;
  return EXPC_FIELDS(one.effects, one.rankings, one.fronts, over_the_run, one.outliers);
}

/// Seconds of a step at both levels; `share` is that of the whole difference.
inline llvm::json::Value json(const describe::CategoryShare& one) {
  llvm::json::Object object = EXPC_FIELDS(one.name, one.treated, one.baseline, one.interval, one.share);
  if (one.treated_count + one.baseline_count > 0) {
    object["treated_count"] = one.treated_count;
    object["baseline_count"] = one.baseline_count;
  }
  // Absent rather than false: few categories lie beside the step.
  if (one.beside) object["beside"] = true;
  return object;
}

inline llvm::json::Value json(const describe::TimedEffect& one) {
  return EXPC_FIELDS(one.comparison, one.interval, one.may_be_none);
}

/// All categories of every view. Times are in seconds, and intervals are of the difference.
inline llvm::json::Value json(const describe::Attribution& one) {
  llvm::json::Object views, notes;
  for (const describe::AttributionView& view : one.views) {
    views[view.name] = json(view.categories);
    if (const std::string note = noteOf(view); !note.empty()) notes[view.name] = note;
  }
  const double treated_step = one.treated_seconds, baseline_step = one.baseline_seconds;
  const bool may_be_none = one.mayBeNone() != nullptr;
  return EXPC_FIELDS(one.treated, one.baseline, one.comparisons, one.criteria, one.blocks, treated_step, baseline_step,
                     one.interval, one.timed, may_be_none, views, notes);
}

/// `estimate` is after / before for a ratio, else after - before.
inline llvm::json::Value json(const describe::Shift& one) {
  const char* by = one.ratio ? "ratio" : "difference";
  const bool undecided = one.open;
  return EXPC_FIELDS(one.subject, one.label, one.comparison, one.unit, one.before, one.after, one.before_n, one.after_n,
                     by, one.estimate, one.interval, one.p, one.moved, one.tellable, one.by_session, undecided,
                     one.worse, one.regression);
}

/// `noise` and `drift` are standard deviations within and between blocks, of logarithms if `relative`, else in the
/// metric's unit.
inline llvm::json::Value json(const simulate::MetricModel& one) {
  static constexpr std::string_view kFrom[] = {"assumed", "stated", "measured"};
  const std::string_view from = kFrom[static_cast<size_t>(one.origin)];
  const std::string& metric = one.name;
  const bool relative = one.multiplies;
  return EXPC_FIELDS(metric, one.kind, one.noise, one.drift, relative, from, one.trials);
}

/// Shares of simulated studies.
inline llvm::json::Value json(const simulate::Chances& one) { return EXPC_FIELDS(one.pass, one.fail, one.open); }

/// `half_widths` is the distance of the truth from the bound in half-widths of the interval, above 0 where the bound
/// holds.
inline llvm::json::Value json(const simulate::Sweep& one) {
  const double half_widths = one.distance;
  return EXPC_FIELDS(half_widths, one.value, one.chances);
}

/// Either the reason why it was `skipped`, or all members. `kept_open` has shares of studies that a control or the
/// budget keeps open.
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

/// `derived` is the formula, for a metric that the study computes.
inline llvm::json::Value json(const plan::Metric& one) {
  llvm::json::Object object = EXPC_FIELDS(one.name, one.unit, one.dimension, one.kind);
  if (one.derived) object["derived"] = json(one.text);
  if (one.series) object["series"] = true;
  return object;
}

inline llvm::json::Value json(const store::Worker& one) { return EXPC_FIELDS(one.build, one.environment_class); }

/// `opened` and `last_seen` are Unix times.
inline llvm::json::Value json(const store::Session& one) {
  const std::string host = one.where.machine();
  const bool null_cards = one.onNullCards();
  const double opened = one.opened.wall, last_seen = one.last_seen.wall;
  return EXPC_FIELDS(one.id, host, one.where.nodes, one.where.lane, one.workers, null_cards, opened, last_seen);
}

/// Returns what a design can be expected to find ("expc.diagnosis/1").
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
  // The order matters: bool is integral, a string is a list of characters, and JSON values are lists, too.
  if constexpr (std::is_same_v<T, bool>) {
    return value;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<int64_t>(value);
  } else if constexpr (std::is_enum_v<T>) {
    return std::string(toString(value));
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return base::jsonText(llvm::StringRef(std::string_view(value)));
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
  // `names` is the macro's argument list as text: take the next name and drop the object in front of it.
  const auto next = [&] {
    const auto [first, rest] = names.split(", ");
    names = rest;
    return first.substr(first.find_last_of(".>") + 1);
  };
  ((object[next()] = json(values)), ...);
  return object;
}

/// Returns the judgement as JSON ("expc.report/1"), which needs no other file to be read: cells by the labels of their
/// factors, values in base units. Rehearsals stand apart, if there are any. Values that are not finite (a timeout is
/// worse than every value) are the strings "inf" and "-inf".
llvm::json::Value resultJson(const describe::Findings& findings, const rehearsal::Study* rehearsed = nullptr);

/// Writes the same document as text, piece by piece. Unless it is to be `whole`, values of single runs and blocks and
/// the ids of cells' points are left out, which are most of it in a large study.
void writeResultJson(llvm::raw_ostream& out, const describe::Findings& findings, const rehearsal::Study* rehearsed,
                     bool whole);

}  // namespace expc::report
