#pragma once

// JSON of results for programs ("expc.report/1", "expc.diagnosis/1"): each record describes its members once
// (JsonRecord), so that programs of ours can read what is written here. A description of a record lies in the
// namespace of the record. Numbers are in base units (seconds, bytes, fractions) unless a comment says otherwise;
// ratios have no unit.

#include <llvm/Support/JSON.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/json_record.h"
#include "runtime/base/llvm.h"
#include "runtime/base/text.h"
#include "runtime/base/word.h"
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

namespace expc::base {

inline void describe(JsonRecord& io, Interval& one) { io.fields(EXPC_NAMED(one, low, high, confidence)); }

}  // namespace expc::base

namespace expc::stats {

/// `within` and `between` are standard deviations, of logarithms for ratios.
inline void describe(JsonRecord& io, Spreads& one) { io.fields(EXPC_NAMED(one, within, between, sessions, apart)); }

}  // namespace expc::stats

namespace expc::plan {

/// `derived` is the formula, for a metric that the study computes.
inline void describe(JsonRecord& io, Metric& one) {
  io.fields(EXPC_NAMED(one, name, unit, dimension, kind));
  io.optional("derived", one.text, "series", one.series);
}

}  // namespace expc::plan

namespace expc::store {

/// A worker under the names of reports: journals have names of their own for a Worker (store/entry.h), and one type
/// has one `describe` in the whole program.
struct ReportedWorker : Worker {};

inline void describe(JsonRecord& io, ReportedWorker& one) { io.fields(EXPC_NAMED(one, build, environment_class)); }

/// `opened` and `last_seen` are Unix times.
inline void describe(JsonRecord& io, Session& one) {
  std::vector<ReportedWorker> workers(one.workers.begin(), one.workers.end());
  io.fields("id", one.id, "host", one.where.machine(), EXPC_NAMED(one.where, nodes, lane), "workers", workers,
            "null_cards", one.onNullCards(), "opened", one.opened.wall, "last_seen", one.last_seen.wall);
  one.workers.assign(workers.begin(), workers.end());
}

}  // namespace expc::store

namespace expc::judge {

/// Counts of pairs or trials, by the cell that has the fewest.
inline void describe(JsonRecord& io, Scope& one) {
  io.fields(EXPC_NAMED(one, planned, complete, lost, sessions, nodes));
}

/// `before` and `now` are repetitions; `confidence` is that of each interval, so that all analyses together keep the
/// criterion's.
inline void describe(JsonRecord& io, Look& one) {
  io.fields(EXPC_NAMED(one, before, now, of, confidence, unread, decided_at));
}

inline constexpr base::Word<Condition::Code> kConditions[] = {
    {"independent", Condition::Independent},  {"correlated", Condition::Correlated},
    {"lost alike", Condition::LostAlike},     {"one session", Condition::OneSession},
    {"two sessions", Condition::TwoSessions}, {"single arm", Condition::SingleArm}};
constexpr auto& wordsOf(Condition::Code) { return kConditions; }
/// `number` depends on the code: a correlation, or a number of lost trials.
inline void describe(JsonRecord& io, Condition& one) { io.fields(EXPC_NAMED(one, code, number)); }

inline constexpr base::Word<NextStep::Reach> kReaches[] = {{"decides", NextStep::Reach::Decides},
                                                           {"intervals", NextStep::Reach::Intervals},
                                                           {"out of reach", NextStep::Reach::OutOfReach},
                                                           {"trend", NextStep::Reach::Trend},
                                                           {"not simulated", NextStep::Reach::NotSimulated},
                                                           {"sessions", NextStep::Reach::Sessions}};
constexpr auto& wordsOf(NextStep::Reach) { return kReaches; }
/// `towards` is absent if most simulated studies stay open, `sessions` if their number is not known, `at_estimate` if
/// it is not smaller than `blocks`.
inline void describe(JsonRecord& io, NextStep& one) {
  auto towards = one.towards == Verdict::Inconclusive ? std::nullopt : std::optional(one.towards);
  auto sessions = one.sessions ? std::optional(one.sessions) : std::nullopt;
  auto at_estimate = one.at_estimate ? std::optional(one.at_estimate) : std::nullopt;
  io.fields(EXPC_NAMED(one, reach, blocks), "at_estimate", at_estimate, EXPC_NAMED(one, repetitions, seconds),
            "towards", towards, "sessions", sessions);
  if (!io.reads()) return;
  one.towards = towards.value_or(Verdict::Inconclusive);
  one.sessions = sessions.value_or(0);
  one.at_estimate = at_estimate.value_or(0);
}

inline constexpr base::Word<bool> kBy[] = {{"ratio", true}, {"difference", false}};

/// The estimate compares the later run with the earlier one, or a run alone with its point; `margin` is half the
/// smallest claimed gap.
inline void describe(JsonRecord& io, ControlResult& one) {
  io.fields(EXPC_NAMED(one, name, point, metric));
  io.word("by", one.ratio, kBy);
  io.fields(EXPC_NAMED(one.estimate, estimate, interval, scope), EXPC_NAMED(one, margin, untrusted));
}

/// `widest` and `half_width` are shares of the estimate if `relative`.
inline void describe(JsonRecord& io, UntilState& one) {
  io.fields("kind", one.kind, EXPC_NAMED(one.until, subject, half_width, relative), EXPC_NAMED(one, widest, where),
            "repetitions", one.blocks, EXPC_NAMED(one, most, met));
}

/// Failed, timed out and disturbed trials count with every attempt, the others in blocks; `timeout_limit` is in
/// seconds.
inline void describe(JsonRecord& io, PointStatus& one) {
  auto limit = one.timeouts ? std::optional(one.limit) : std::nullopt;
  io.fields(EXPC_NAMED(one, kind, planned, valid, failed, timeouts), "timeout_limit", limit, "timeouts_superseded",
            one.superseded, EXPC_NAMED(one, infeasible, invalid), "unstable", one.unstable(),
            EXPC_NAMED(one, memory_reason, lacking, last_reason));
  if (io.reads()) one.limit = limit.value_or(0);
}

}  // namespace expc::judge

namespace expc::describe {

/// `ratio` is the geometric mean at these levels over what the grid and lesser effects give.
inline void describe(JsonRecord& io, LevelEffect& one) {
  io.fields("levels", one.labels, EXPC_NAMED(one, ratio, interval));
}

/// `share` is that of the sum of squares of logarithms.
inline void describe(JsonRecord& io, FactorEffect& one) { io.fields(EXPC_NAMED(one, factors, share, levels)); }

/// `mean` is geometric, in the metric's unit; the shares of effects, `higher`, `between_blocks` and `error` add up to
/// 1.
inline void describe(JsonRecord& io, Effects& one) {
  io.fields("metric", one.metric);
  io.list("grid", one.grid,
          [](JsonRecord& inner, auto& factor) { inner.fields("factor", factor.first, "levels", factor.second); });
  io.fields(EXPC_NAMED(one, points, left_out, blocks, mean, effects, higher, between_blocks, error));
}

/// `rank` counts from 1; points that tie share it, and it is absent with too few blocks.
inline void describe(JsonRecord& io, Ranked& one) { io.fields(EXPC_NAMED(one, point, rank, median, n)); }

inline void describe(JsonRecord& io, Ranking& one) { io.fields(EXPC_NAMED(one, metric, points)); }

/// `beaten` is the number of points that another one beats in both metrics.
inline void describe(JsonRecord& io, Front& one) {
  std::vector<std::string> metrics, points = base::textsOf(one.points, &FrontPoint::point);
  if (!io.reads()) metrics = {one.first, one.second};
  io.fields("metrics", metrics, "points", points, "beaten", one.beaten);
  if (!io.reads()) return;
  metrics.resize(2);
  one.first = metrics[0], one.second = metrics[1];
  for (const std::string& point : points) one.points.push_back({point});
}

/// Ratios: `first_block` over the median of the others (absent without a warm-up), `drift` of the last block over the
/// first by the trend.
inline void describe(JsonRecord& io, Drift& one) {
  io.fields(EXPC_NAMED(one, metric, blocks), "first_block", one.first, "drift", one.last, "p", one.p);
}

inline void describe(JsonRecord& io, Outlier& one) {
  io.fields(EXPC_NAMED(one, metric, point, trial, block, value, median));
}

/// Fronts of plots and curves are left out.
inline void describe(JsonRecord& io, Description& one) {
  io.fields(EXPC_NAMED(one, effects, rankings, fronts), "over_the_run", one.drifts, "outliers", one.outliers);
}

/// Seconds of a step at both levels; `share` is that of the whole difference. Counts are left out if there are none,
/// and so is `beside`: few categories lie beside the step.
inline void describe(JsonRecord& io, CategoryShare& one) {
  io.fields(EXPC_NAMED(one, name, treated, baseline, interval, share));
  if (io.has("treated_count", one.treated_count + one.baseline_count > 0))
    io.fields(EXPC_NAMED(one, treated_count, baseline_count));
  io.optional("beside", one.beside);
}

inline void describe(JsonRecord& io, TimedEffect& one) {
  io.fields(EXPC_NAMED(one, comparison, interval, may_be_none));
}

/// `estimate` is after / before for a ratio, else after - before.
inline void describe(JsonRecord& io, Shift& one) {
  io.fields(EXPC_NAMED(one, subject, label, comparison, unit, before, after, before_n, after_n));
  io.word("by", one.ratio, judge::kBy);
  io.fields(EXPC_NAMED(one, estimate, interval, p, moved, tellable, by_session), "undecided", one.open,
            EXPC_NAMED(one, worse, regression));
}

}  // namespace expc::describe

namespace expc::simulate {

inline constexpr base::Word<Origin> kOrigins[] = {
    {"assumed", Origin::Assumed}, {"stated", Origin::Stated}, {"measured", Origin::Measured}};
constexpr auto& wordsOf(Origin) { return kOrigins; }
/// `noise` and `drift` are standard deviations within and between blocks, of logarithms if `relative`, else in the
/// metric's unit.
inline void describe(JsonRecord& io, MetricModel& one) {
  io.fields("metric", one.name, EXPC_NAMED(one, kind, noise, drift), "relative", one.multiplies, "from", one.origin,
            "trials", one.trials);
}

/// Shares of simulated studies.
inline void describe(JsonRecord& io, Chances& one) { io.fields(EXPC_NAMED(one, pass, fail, open)); }

/// `half_widths` is the distance of the truth from the bound in half-widths of the interval, above 0 where the bound
/// holds.
inline void describe(JsonRecord& io, Sweep& one) {
  io.fields("half_widths", one.distance, EXPC_NAMED(one, value, chances));
}

/// Either the reason why it was `skipped`, or all members. `kept_open` has shares of studies that a control or the
/// budget keeps open.
inline void describe(JsonRecord& io, CriterionDiagnosis& one) {
  std::string skipped = report::inWords({}, one.skipped).text;
  io.fields("name", one.name);
  io.optional("skipped", skipped);
  if (io.reads() && !skipped.empty()) one.skipped = plan::because({.code = plan::Reason::Said, .said = skipped});
  if (one.skipped) return;
  if (io.has("known", !one.known.empty()))
    io.object("known", one, [](JsonRecord& inner, CriterionDiagnosis& truth) {
      inner.fields("from", truth.known, EXPC_NAMED(truth, least, most));
    });
  else if (!io.reads())
    io.out()["known"] = nullptr;
  io.fields(EXPC_NAMED(one, timeouts, chances, coverage), "half_width", one.reach,
            EXPC_NAMED(one, sweeps, passes_from, fails_from));
  io.object("kept_open", one, [](JsonRecord& inner, CriterionDiagnosis& kept) {
    inner.fields("by_control", kept.untrusted, "by_budget", kept.cut_off);
  });
  io.present("next", one.next);
}

inline void describe(JsonRecord& io, DesignDiagnosis& one) {
  io.fields("repetitions", one.most, EXPC_NAMED(one, blocks, trials, seconds, criteria));
}

}  // namespace expc::simulate

namespace expc::report {

/// A control's result, with its reason as a sentence.
struct ControlRecord {
  judge::ControlResult result;
  std::string why;
};
inline void describe(JsonRecord& io, ControlRecord& one) {
  base::kDescribed(io, one.result);
  io.fields("why", one.why);
}

inline void describe(JsonRecord& io, MissingThing& one) { io.fields(EXPC_NAMED(one, what, why, verdict)); }

/// An attribution with notes on its views in words. Times are in seconds, and intervals are of the difference.
struct AttributionRecord {
  describe::Attribution of;
  std::map<std::string, std::string> notes = {};  // by view
  bool may_be_none = false;

  AttributionRecord() = default;
  explicit AttributionRecord(describe::Attribution found)
      : of(std::move(found)), may_be_none(of.mayBeNone() != nullptr) {
    for (const describe::AttributionView& view : of.views)
      if (std::string note = noteOf(view); !note.empty()) notes.emplace(view.name, std::move(note));
  }
};
inline void describe(JsonRecord& io, AttributionRecord& one) {
  std::map<std::string, std::vector<describe::CategoryShare>> views;
  for (const describe::AttributionView& view : one.of.views) views[view.name] = view.categories;
  io.fields(EXPC_NAMED(one.of, treated, baseline, comparisons, criteria, blocks), "treated_step",
            one.of.treated_seconds, "baseline_step", one.of.baseline_seconds, EXPC_NAMED(one.of, interval, timed),
            "may_be_none", one.may_be_none, "views", views, "notes", one.notes);
  if (!io.reads()) return;
  for (const auto& [name, categories] : views) one.of.views.push_back({name, categories});
}

// ---- the document of results, "expc.report/1", piece by piece as it is written. A function here takes the records
// that a piece shows, and what is made of them: it writes constant ones.

/// Facts of the whole document that are made for it.
struct HeadFacts {
  std::string schema = "expc.report/1";
  int exit_code = 0;
  std::string answer = {};
  std::vector<MissingThing> missing = {};
  std::vector<ControlRecord> controls = {};
  std::vector<AttributionRecord> attributions = {};
  std::vector<json::Object> rehearsed = {};  // left out if there is none
};
void describeHead(JsonRecord& io, auto& plan, auto& judgement, auto& results, HeadFacts& facts) {
  io.fields("schema", facts.schema, EXPC_NAMED(plan, study, source, presets, overrides, digest),
            EXPC_NAMED(facts, exit_code, answer), "unfinished", judgement.unfinished, "missing", facts.missing,
            "null_cards", judgement.null_cards, "controls", facts.controls, "repetitions", judgement.untils,
            "description", judgement.description, "attributions", facts.attributions, "metrics", plan.metrics,
            EXPC_NAMED(results, sessions, kept_not_counted, not_counted_reasons));
  io.optional("rehearsed", facts.rehearsed);
}

/// Facts of a criterion in words (verdict_text.h).
struct CriterionFacts {
  std::string answer, tested, why, how_sure;
  std::vector<std::string> notes = {}, marks = {};
  std::optional<std::string> untrusted = {}, expected = {};
  std::optional<std::vector<std::string>> held_by = {};  // the assertions by which a claim that joins several holds
};
void describeCriterion(JsonRecord& io, auto& found, auto& result, CriterionFacts& facts) {
  io.fields("name", result.name, "text", found.text, "claim", found.doc, EXPC_NAMED(facts, answer, tested, notes),
            "where", found.where, "marks", facts.marks, "verdict", result.verdict,
            EXPC_NAMED(facts, why, how_sure, untrusted),
            EXPC_NAMED(result, provisional, look, other_looks, next, conditions),
            EXPC_NAMED(found, infeasible, domain, confidence, unit), "scope", result.scope);
  io.present(EXPC_NAMED(facts, held_by, expected));
}

/// A cell by the labels of its factors. A published value may be null: unknown for a cell of a study with references.
struct CellFacts {
  std::map<std::string, std::string> levels = {};
  std::string steps, why;
  std::optional<std::vector<std::string>> points = {};  // "POINT", or "POINT#NAME" for a control
  std::optional<std::vector<double>> values = {};       // by block; present as `points` are
  std::optional<std::optional<double>> published = {};
  std::optional<std::string> bound = {};
  std::optional<std::string> assertion = {};  // of a criterion that joins several
  std::optional<Verdict> verdict = {};        // of a criterion's cell, as `confidence`
  std::optional<double> confidence = {};
};
void describeCell(JsonRecord& io, auto& one, CellFacts& facts) {
  io.fields("levels", facts.levels, EXPC_NAMED(one, estimate, interval, scope, constant, diverged, correlation),
            "steps", facts.steps, "spreads", one.spreads);
  io.present(EXPC_NAMED(facts, points, values, published, bound, assertion, verdict, confidence), "uncorrected",
             one.uncorrected);
  io.optional("why", facts.why);
}

/// A metric's summary at a point.
struct MeasuredRecord {
  judge::Summary summary;
  std::optional<double> published;
  bool with_values = true;
};
inline void describe(JsonRecord& io, MeasuredRecord& one) {
  judge::Summary& summary = one.summary;
  io.fields(EXPC_NAMED(summary, n, timeouts, never, diverged), "published", one.published,
            EXPC_NAMED(summary, median, minimum, maximum, interval, correlation, constant, spreads));
  one.with_values = io.has("values", one.with_values);
  if (one.with_values) io.fields("values", summary.values);
}

/// A point with its levels (null: the factor is not active), trials and metrics.
struct PointRecord {
  std::string point, workload, unavailable, expected_infeasible;
  std::map<std::string, std::optional<std::string>> levels = {};
  std::vector<PointStatus> trials = {};
  std::map<std::string, MeasuredRecord> metrics = {};
  std::set<std::string> not_on_device = {};
};
inline void describe(JsonRecord& io, PointRecord& one) {
  io.fields(EXPC_NAMED(one, point, levels, workload, unavailable, expected_infeasible, trials, metrics, not_on_device));
}

/// Returns the judgement as JSON ("expc.report/1"), which needs no other file to be read: cells by the labels of their
/// factors, values in base units. Rehearsals stand apart, if there are any. Values that are not finite (a timeout is
/// worse than every value) are the strings "inf" and "-inf".
json::Value resultJson(const Findings& findings, const rehearsal::Study* rehearsed = nullptr);

/// Writes the same document as text, piece by piece. Unless it is to be `whole`, values of single runs and blocks and
/// the ids of cells' points are left out, which are most of it in a large study.
void writeResultJson(llvm::raw_ostream& out, const Findings& findings, const rehearsal::Study* rehearsed, bool whole);

/// A point whose trials may end without a value, in shares of them.
struct EndsRecord {
  TrialKind kind = TrialKind::Timed;
  std::string point;
  double infeasible = 0, timeouts = 0;
};
inline void describe(JsonRecord& io, EndsRecord& one) { io.fields(EXPC_NAMED(one, kind, point, infeasible, timeouts)); }

/// A document of what a design can be expected to find, "expc.diagnosis/1".
void describeDiagnosis(JsonRecord& io, auto& study, auto& diagnosis, std::vector<EndsRecord>& without_value) {
  std::string schema = "expc.diagnosis/1";
  io.fields("schema", schema, "study", study, EXPC_NAMED(diagnosis, studies, seed), "noise", diagnosis.model.metrics,
            EXPC_NAMED(diagnosis.model, lost, disturbed), "without_value", without_value,
            EXPC_NAMED(diagnosis, design, larger));
}
inline json::Value diagnosisJson(const Plan& plan, const simulate::Diagnosis& diagnosis) {
  std::vector<EndsRecord> without_value;
  for (const auto& [kind, ends] : diagnosis.model.ends)
    for (size_t i = 0; i < ends.size(); ++i)
      if (ends[i].infeasible + ends[i].timeouts > 0)
        without_value.push_back({kind, plan.points[i].id, ends[i].infeasible, ends[i].timeouts});
  JsonRecord io;
  describeDiagnosis(io, plan.study, diagnosis, without_value);
  return std::move(io.out());
}

}  // namespace expc::report
