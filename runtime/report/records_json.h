#pragma once

// JSON of results for programs ("expc.report/1", "expc.diagnosis/1"): each record describes its members once
// (base::JsonRecord), so that programs of ours can read what is written here. A description of a record lies in the
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

inline void describe(JsonRecord& io, Interval& one) {
  io.fields("low", one.low, "high", one.high, "confidence", one.confidence);
}

}  // namespace expc::base

namespace expc::stats {

/// `within` and `between` are standard deviations, of logarithms for ratios.
inline void describe(base::JsonRecord& io, Spreads& one) {
  io.fields("within", one.within, "between", one.between, "sessions", one.sessions, "apart", one.apart);
}

}  // namespace expc::stats

namespace expc::plan {

constexpr auto& wordsOf(TrialKind) { return words::kKind; }

/// `derived` is the formula, for a metric that the study computes.
inline void describe(base::JsonRecord& io, Metric& one) {
  io.fields("name", one.name, "unit", one.unit, "dimension", one.dimension, "kind", one.kind);
  io.optional("derived", one.text);
  io.optional("series", one.series);
}

}  // namespace expc::plan

namespace expc::store {

/// A worker under the names of reports: journals have names of their own for a Worker (store/entry.h), and one type
/// has one `describe` in the whole program.
struct ReportedWorker : Worker {};

inline void describe(base::JsonRecord& io, ReportedWorker& one) {
  io.fields("build", one.build, "environment_class", one.environment_class);
}

/// `opened` and `last_seen` are Unix times.
inline void describe(base::JsonRecord& io, Session& one) {
  std::vector<ReportedWorker> workers(one.workers.begin(), one.workers.end());
  io.fields("id", one.id, "host", one.where.machine(), "nodes", one.where.nodes, "lane", one.where.lane, "workers",
            workers, "null_cards", one.onNullCards(), "opened", one.opened.wall, "last_seen", one.last_seen.wall);
  one.workers.assign(workers.begin(), workers.end());
}

}  // namespace expc::store

namespace expc::judge {

/// Counts of pairs or trials, by the cell that has the fewest.
inline void describe(base::JsonRecord& io, Scope& one) {
  io.fields("planned", one.planned, "complete", one.complete, "lost", one.lost, "sessions", one.sessions, "nodes",
            one.nodes);
}

/// `before` and `now` are repetitions; `confidence` is that of each interval, so that all analyses together keep the
/// criterion's.
inline void describe(base::JsonRecord& io, Look& one) {
  io.fields("before", one.before, "now", one.now, "of", one.of, "confidence", one.confidence, "unread", one.unread,
            "decided_at", one.decided_at);
}

inline constexpr base::Word<Condition::Code> kConditions[] = {
    {"independent", Condition::Independent},  {"correlated", Condition::Correlated},
    {"lost alike", Condition::LostAlike},     {"one session", Condition::OneSession},
    {"two sessions", Condition::TwoSessions}, {"single arm", Condition::SingleArm}};
constexpr auto& wordsOf(Condition::Code) { return kConditions; }
/// `number` depends on the code: a correlation, or a number of lost trials.
inline void describe(base::JsonRecord& io, Condition& one) { io.fields("code", one.code, "number", one.number); }

inline constexpr base::Word<NextStep::Reach> kReaches[] = {{"decides", NextStep::Reach::Decides},
                                                           {"intervals", NextStep::Reach::Intervals},
                                                           {"out of reach", NextStep::Reach::OutOfReach},
                                                           {"trend", NextStep::Reach::Trend},
                                                           {"not simulated", NextStep::Reach::NotSimulated},
                                                           {"sessions", NextStep::Reach::Sessions}};
constexpr auto& wordsOf(NextStep::Reach) { return kReaches; }
/// `towards` is absent if most simulated studies stay open, `sessions` if their number is not known, `at_estimate` if
/// it is not smaller than `blocks`.
inline void describe(base::JsonRecord& io, NextStep& one) {
  auto towards = one.towards == Verdict::Inconclusive ? std::nullopt : std::optional(one.towards);
  auto sessions = one.sessions ? std::optional(one.sessions) : std::nullopt;
  auto at_estimate = one.at_estimate ? std::optional(one.at_estimate) : std::nullopt;
  io.fields("reach", one.reach, "blocks", one.blocks, "at_estimate", at_estimate, "repetitions", one.repetitions,
            "seconds", one.seconds, "towards", towards, "sessions", sessions);
  if (!io.reads()) return;
  one.towards = towards.value_or(Verdict::Inconclusive);
  one.sessions = sessions.value_or(0);
  one.at_estimate = at_estimate.value_or(0);
}

inline constexpr base::Word<bool> kBy[] = {{"ratio", true}, {"difference", false}};

/// The estimate compares the later run with the earlier one, or a run alone with its point; `margin` is half the
/// smallest claimed gap.
inline void describe(base::JsonRecord& io, ControlResult& one) {
  io.fields("name", one.name, "point", one.point, "metric", one.metric);
  io.word("by", one.ratio, kBy);
  io.fields("estimate", one.estimate.estimate, "interval", one.estimate.interval, "scope", one.estimate.scope, "margin",
            one.margin, "untrusted", one.untrusted);
}

/// `widest` and `half_width` are shares of the estimate if `relative`.
inline void describe(base::JsonRecord& io, UntilState& one) {
  io.fields("kind", one.kind, "subject", one.until.subject, "half_width", one.until.half_width, "relative",
            one.until.relative, "widest", one.widest, "where", one.where, "repetitions", one.blocks, "most", one.most,
            "met", one.met);
}

/// Failed, timed out and disturbed trials count with every attempt, the others in blocks; `timeout_limit` is in
/// seconds.
inline void describe(base::JsonRecord& io, PointStatus& one) {
  auto limit = one.timeouts ? std::optional(one.limit) : std::nullopt;
  io.fields("kind", one.kind, "planned", one.planned, "valid", one.valid, "failed", one.failed, "timeouts",
            one.timeouts, "timeout_limit", limit, "timeouts_superseded", one.superseded, "infeasible", one.infeasible,
            "invalid", one.invalid, "unstable", one.unstable(), "memory_reason", one.memory_reason, "lacking",
            one.lacking, "last_reason", one.last_reason);
  if (io.reads()) one.limit = limit.value_or(0);
}

}  // namespace expc::judge

namespace expc::describe {

/// `ratio` is the geometric mean at these levels over what the grid and lesser effects give.
inline void describe(base::JsonRecord& io, LevelEffect& one) {
  io.fields("levels", one.labels, "ratio", one.ratio, "interval", one.interval);
}

/// `share` is that of the sum of squares of logarithms.
inline void describe(base::JsonRecord& io, FactorEffect& one) {
  io.fields("factors", one.factors, "share", one.share, "levels", one.levels);
}

/// `mean` is geometric, in the metric's unit; the shares of effects, `higher`, `between_blocks` and `error` add up to
/// 1.
inline void describe(base::JsonRecord& io, Effects& one) {
  io.fields("metric", one.metric);
  io.list("grid", one.grid,
          [](base::JsonRecord& inner, auto& factor) { inner.fields("factor", factor.first, "levels", factor.second); });
  io.fields("points", one.points, "left_out", one.left_out, "blocks", one.blocks, "mean", one.mean, "effects",
            one.effects, "higher", one.higher, "between_blocks", one.between_blocks, "error", one.error);
}

/// `rank` counts from 1; points that tie share it, and it is absent with too few blocks.
inline void describe(base::JsonRecord& io, Ranked& one) {
  io.fields("point", one.point, "rank", one.rank, "median", one.median, "n", one.n);
}

inline void describe(base::JsonRecord& io, Ranking& one) { io.fields("metric", one.metric, "points", one.points); }

/// `beaten` is the number of points that another one beats in both metrics.
inline void describe(base::JsonRecord& io, Front& one) {
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
inline void describe(base::JsonRecord& io, Drift& one) {
  io.fields("metric", one.metric, "blocks", one.blocks, "first_block", one.first, "drift", one.last, "p", one.p);
}

inline void describe(base::JsonRecord& io, Outlier& one) {
  io.fields("metric", one.metric, "point", one.point, "trial", one.trial, "block", one.block, "value", one.value,
            "median", one.median);
}

/// Fronts of plots and curves are left out.
inline void describe(base::JsonRecord& io, Description& one) {
  io.fields("effects", one.effects, "rankings", one.rankings, "fronts", one.fronts, "over_the_run", one.drifts,
            "outliers", one.outliers);
}

/// Seconds of a step at both levels; `share` is that of the whole difference. Counts are left out if there are none,
/// and so is `beside`: few categories lie beside the step.
inline void describe(base::JsonRecord& io, CategoryShare& one) {
  io.fields("name", one.name, "treated", one.treated, "baseline", one.baseline, "interval", one.interval, "share",
            one.share);
  if (io.has("treated_count", one.treated_count + one.baseline_count > 0))
    io.fields("treated_count", one.treated_count, "baseline_count", one.baseline_count);
  io.optional("beside", one.beside);
}

inline void describe(base::JsonRecord& io, TimedEffect& one) {
  io.fields("comparison", one.comparison, "interval", one.interval, "may_be_none", one.may_be_none);
}

/// `estimate` is after / before for a ratio, else after - before.
inline void describe(base::JsonRecord& io, Shift& one) {
  io.fields("subject", one.subject, "label", one.label, "comparison", one.comparison, "unit", one.unit, "before",
            one.before, "after", one.after, "before_n", one.before_n, "after_n", one.after_n);
  io.word("by", one.ratio, judge::kBy);
  io.fields("estimate", one.estimate, "interval", one.interval, "p", one.p, "moved", one.moved, "tellable",
            one.tellable, "by_session", one.by_session, "undecided", one.open, "worse", one.worse, "regression",
            one.regression);
}

}  // namespace expc::describe

namespace expc::simulate {

inline constexpr base::Word<Origin> kOrigins[] = {
    {"assumed", Origin::Assumed}, {"stated", Origin::Stated}, {"measured", Origin::Measured}};
constexpr auto& wordsOf(Origin) { return kOrigins; }
/// `noise` and `drift` are standard deviations within and between blocks, of logarithms if `relative`, else in the
/// metric's unit.
inline void describe(base::JsonRecord& io, MetricModel& one) {
  io.fields("metric", one.name, "kind", one.kind, "noise", one.noise, "drift", one.drift, "relative", one.multiplies,
            "from", one.origin, "trials", one.trials);
}

/// Shares of simulated studies.
inline void describe(base::JsonRecord& io, Chances& one) {
  io.fields("pass", one.pass, "fail", one.fail, "open", one.open);
}

/// `half_widths` is the distance of the truth from the bound in half-widths of the interval, above 0 where the bound
/// holds.
inline void describe(base::JsonRecord& io, Sweep& one) {
  io.fields("half_widths", one.distance, "value", one.value, "chances", one.chances);
}

/// Either the reason why it was `skipped`, or all members. `kept_open` has shares of studies that a control or the
/// budget keeps open.
inline void describe(base::JsonRecord& io, CriterionDiagnosis& one) {
  std::string skipped = report::inWords({}, one.skipped).text;
  io.fields("name", one.name);
  io.optional("skipped", skipped);
  if (io.reads() && !skipped.empty()) one.skipped = plan::because({.code = plan::Reason::Said, .said = skipped});
  if (one.skipped) return;
  if (io.has("known", !one.known.empty()))
    io.object("known", one, [](base::JsonRecord& inner, CriterionDiagnosis& truth) {
      inner.fields("from", truth.known, "least", truth.least, "most", truth.most);
    });
  else if (!io.reads())
    io.out()["known"] = nullptr;
  io.fields("timeouts", one.timeouts, "chances", one.chances, "coverage", one.coverage, "half_width", one.reach,
            "sweeps", one.sweeps, "passes_from", one.passes_from, "fails_from", one.fails_from);
  io.object("kept_open", one, [](base::JsonRecord& inner, CriterionDiagnosis& kept) {
    inner.fields("by_control", kept.untrusted, "by_budget", kept.cut_off);
  });
  if (io.has("next", one.next.has_value())) io.fields("next", one.next);
}

inline void describe(base::JsonRecord& io, DesignDiagnosis& one) {
  io.fields("repetitions", one.most, "blocks", one.blocks, "trials", one.trials, "seconds", one.seconds, "criteria",
            one.criteria);
}

}  // namespace expc::simulate

namespace expc::report {

/// A control's result, with its reason as a sentence.
struct ControlRecord {
  judge::ControlResult result;
  std::string why;
};
inline void describe(base::JsonRecord& io, ControlRecord& one) {
  base::kDescribed(io, one.result);
  io.fields("why", one.why);
}

inline void describe(base::JsonRecord& io, MissingThing& one) {
  io.fields("what", one.what, "why", one.why, "verdict", one.verdict);
}

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
inline void describe(base::JsonRecord& io, AttributionRecord& one) {
  std::map<std::string, std::vector<describe::CategoryShare>> views;
  for (const describe::AttributionView& view : one.of.views) views[view.name] = view.categories;
  io.fields("treated", one.of.treated, "baseline", one.of.baseline, "comparisons", one.of.comparisons, "criteria",
            one.of.criteria, "blocks", one.of.blocks, "treated_step", one.of.treated_seconds, "baseline_step",
            one.of.baseline_seconds, "interval", one.of.interval, "timed", one.of.timed, "may_be_none", one.may_be_none,
            "views", views, "notes", one.notes);
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
  std::vector<llvm::json::Object> rehearsed = {};  // left out if there is none
};
void describeHead(base::JsonRecord& io, auto& plan, auto& judgement, auto& results, HeadFacts& facts) {
  io.fields("schema", facts.schema, "study", plan.study, "source", plan.source, "presets", plan.presets, "overrides",
            plan.overrides, "digest", plan.digest, "exit_code", facts.exit_code, "answer", facts.answer, "unfinished",
            judgement.unfinished, "missing", facts.missing, "null_cards", judgement.null_cards, "controls",
            facts.controls, "repetitions", judgement.untils, "description", judgement.description, "attributions",
            facts.attributions, "metrics", plan.metrics, "sessions", results.sessions, "kept_not_counted",
            results.kept_not_counted, "not_counted_reasons", results.not_counted_reasons);
  if (io.has("rehearsed", !facts.rehearsed.empty())) io.fields("rehearsed", facts.rehearsed);
}

/// Facts of a criterion in words (verdict_text.h).
struct CriterionFacts {
  std::string answer, tested, why, how_sure;
  std::vector<std::string> notes = {}, marks = {};
  std::optional<std::string> untrusted = {}, expected = {};
  std::optional<std::vector<std::string>> held_by = {};  // the assertions by which a claim that joins several holds
};
void describeCriterion(base::JsonRecord& io, auto& found, auto& result, CriterionFacts& facts) {
  io.fields("name", result.name, "text", found.text, "claim", found.doc, "answer", facts.answer, "tested", facts.tested,
            "notes", facts.notes, "where", found.where, "marks", facts.marks, "verdict", result.verdict, "why",
            facts.why, "how_sure", facts.how_sure, "untrusted", facts.untrusted, "provisional", result.provisional,
            "look", result.look, "other_looks", result.other_looks, "next", result.next, "conditions",
            result.conditions, "infeasible", found.infeasible, "domain", found.domain, "confidence", found.confidence,
            "unit", found.unit, "scope", result.scope);
  io.present("held_by", facts.held_by);
  io.present("expected", facts.expected);
}

/// A cell by the labels of its factors. A published value may be null: unknown for a cell of a study with references.
struct CellFacts {
  std::map<std::string, std::string> levels = {};
  std::string steps, why;
  std::optional<std::vector<std::string>> points = {};  // "POINT", or "POINT#NAME" for a control
  std::optional<std::vector<double>> values = {};       // by block; present as `points` are
  std::optional<std::optional<double>> published = {};
  std::optional<std::string> bound = {};
  std::optional<std::string> assertion = {};   // of a criterion that joins several
  std::optional<judge::Verdict> verdict = {};  // of a criterion's cell, as `confidence`
  std::optional<double> confidence = {};
};
void describeCell(base::JsonRecord& io, auto& one, CellFacts& facts) {
  io.fields("levels", facts.levels, "estimate", one.estimate, "interval", one.interval, "scope", one.scope, "constant",
            one.constant, "diverged", one.diverged, "correlation", one.correlation, "steps", facts.steps, "spreads",
            one.spreads);
  io.present("points", facts.points);
  io.present("values", facts.values);
  io.present("published", facts.published);
  io.present("bound", facts.bound);
  io.present("assertion", facts.assertion);
  io.present("verdict", facts.verdict);
  io.present("confidence", facts.confidence);
  io.present("uncorrected", one.uncorrected);
  io.optional("why", facts.why);
}

/// A metric's summary at a point.
struct MeasuredRecord {
  judge::Summary summary;
  std::optional<double> published;
  bool with_values = true;
};
inline void describe(base::JsonRecord& io, MeasuredRecord& one) {
  judge::Summary& summary = one.summary;
  io.fields("n", summary.n, "timeouts", summary.timeouts, "never", summary.never, "diverged", summary.diverged,
            "published", one.published, "median", summary.median, "minimum", summary.minimum, "maximum",
            summary.maximum, "interval", summary.interval, "correlation", summary.correlation, "constant",
            summary.constant, "spreads", summary.spreads);
  one.with_values = io.has("values", one.with_values);
  if (one.with_values) io.fields("values", summary.values);
}

/// A point with its levels (null: the factor is not active), trials and metrics.
struct PointRecord {
  std::string point, workload, unavailable, expected_infeasible;
  std::map<std::string, std::optional<std::string>> levels = {};
  std::vector<judge::PointStatus> trials = {};
  std::map<std::string, MeasuredRecord> metrics = {};
  std::set<std::string> not_on_device = {};
};
inline void describe(base::JsonRecord& io, PointRecord& one) {
  io.fields("point", one.point, "levels", one.levels, "workload", one.workload, "unavailable", one.unavailable,
            "expected_infeasible", one.expected_infeasible, "trials", one.trials, "metrics", one.metrics,
            "not_on_device", one.not_on_device);
}

/// Returns the judgement as JSON ("expc.report/1"), which needs no other file to be read: cells by the labels of their
/// factors, values in base units. Rehearsals stand apart, if there are any. Values that are not finite (a timeout is
/// worse than every value) are the strings "inf" and "-inf".
llvm::json::Value resultJson(const describe::Findings& findings, const rehearsal::Study* rehearsed = nullptr);

/// Writes the same document as text, piece by piece. Unless it is to be `whole`, values of single runs and blocks and
/// the ids of cells' points are left out, which are most of it in a large study.
void writeResultJson(llvm::raw_ostream& out, const describe::Findings& findings, const rehearsal::Study* rehearsed,
                     bool whole);

/// A point whose trials may end without a value, in shares of them.
struct EndsRecord {
  plan::TrialKind kind = plan::TrialKind::Timed;
  std::string point;
  double infeasible = 0, timeouts = 0;
};
inline void describe(base::JsonRecord& io, EndsRecord& one) {
  io.fields("kind", one.kind, "point", one.point, "infeasible", one.infeasible, "timeouts", one.timeouts);
}

/// A document of what a design can be expected to find, "expc.diagnosis/1".
void describeDiagnosis(base::JsonRecord& io, auto& study, auto& diagnosis, std::vector<EndsRecord>& without_value) {
  std::string schema = "expc.diagnosis/1";
  io.fields("schema", schema, "study", study, "studies", diagnosis.studies, "seed", diagnosis.seed, "noise",
            diagnosis.model.metrics, "lost", diagnosis.model.lost, "disturbed", diagnosis.model.disturbed,
            "without_value", without_value, "design", diagnosis.design, "larger", diagnosis.larger);
}
inline llvm::json::Value diagnosisJson(const plan::Plan& plan, const simulate::Diagnosis& diagnosis) {
  std::vector<EndsRecord> without_value;
  for (const auto& [kind, ends] : diagnosis.model.ends)
    for (size_t i = 0; i < ends.size(); ++i)
      if (ends[i].infeasible + ends[i].timeouts > 0)
        without_value.push_back({kind, plan.points[i].id, ends[i].infeasible, ends[i].timeouts});
  base::JsonRecord io;
  describeDiagnosis(io, plan.study, diagnosis, without_value);
  return std::move(io.out());
}

}  // namespace expc::report
