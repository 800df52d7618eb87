#pragma once

// The results that a plan's records give, as codes and numbers: summaries, estimates, verdicts and their reasons.
// judge.h makes them; report and export turn them into words and files.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/word.h"
#include "runtime/plan/evaluate.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/reason.h"
#include "runtime/stats/interval.h"
#include "runtime/stats/spreads.h"
#include "runtime/store/records.h"

namespace expc::judge {

/// The confidence of intervals that no criterion asks for.
inline constexpr double kConfidence = 0.95;

/// Broken: a point that it reads failed in every trial, so that there is no value to judge.
enum class Verdict { Pass, Fail, Inconclusive, Infeasible, NotRun, NotAsked, Broken };
inline constexpr base::Word<Verdict> kVerdicts[] = {{"pass", Verdict::Pass},
                                                    {"fail", Verdict::Fail},
                                                    {"inconclusive", Verdict::Inconclusive},
                                                    {"infeasible", Verdict::Infeasible},
                                                    {"not run", Verdict::NotRun},
                                                    {"not asked", Verdict::NotAsked},
                                                    {"broken", Verdict::Broken}};
inline std::string_view toString(Verdict verdict) { return base::wordOf(kVerdicts, verdict); }
constexpr auto& wordsOf(Verdict) { return kVerdicts; }

/// A metric at a point. A trial that timed out, or whose value diverged, counts in n, median and interval as worse than
/// every value, so these may be infinite; of a metric that does not say what is better it does not count.
struct Summary {
  std::string point, metric;
  unsigned n = 0;                           // at least 1: a metric without a value has no summary
  unsigned timeouts = 0;                    // of n
  bool constant = false;                    // an exact metric that never varied, in two values or more
  std::optional<double> median;             // absent where infinities of both signs leave it undefined
  double minimum = 0, maximum = 0;          // the ends of `values`; infinite if there are none
  std::optional<stats::Interval> interval;  // absent: too few values for the confidence (95 %)
  std::vector<double> values;               // measured ones by block order, for dots in charts
  std::vector<unsigned> outliers;           // indices into values (Tukey); flagged, never dropped
  unsigned never = 0;                       // of n: a series that never got there (epochs_to): infinite, in no list
  unsigned diverged = 0;                    // trials whose value is not finite: of n, unless nothing is better
  std::optional<stats::Spreads> spreads = std::nullopt;  // of values from several sessions
  double trend = 0;  // Kendall's tau of values that rise or fall all the time, where that is why it has no interval
  double correlation = 0;  // of a value with the one before: as large as the interval allows for
  double worth = 0;        // as many independent values its interval is made for
};

/// Pairs (for a cell of one point: trials) that an estimate rests on. Lost: blocks that were tried and gave no value.
struct Scope {
  unsigned planned = 0, complete = 0, lost = 0;
  unsigned sessions = 0, nodes = 0;
};

/// Why a cell has no estimate to judge, if it has none.
enum class CellState {
  Measured,    // at least one block value
  NotRun,      // no trial of one of its points, or it is unavailable on the system
  Broken,      // one of its points failed in every trial
  Lost,        // trials, but none complete: failures, missing metrics
  Infeasible,  // the treated point ran out of memory in kInfeasibleBlocks blocks
  Unstable,    // the treated point ran out of memory in some blocks and not in others
  NoBaseline   // another point of the cell is infeasible
};

/// A metric with so few different readings that the interval allows for one step between them.
struct ClockSteps {
  std::string metric;
  size_t readings = 0;  // different ones of one point
  double size = 0;      // of the step, in the metric's unit
};

/// Ratios are estimated on logs (the Hodges-Lehmann estimate of the blocks' log ratios, taken back). Ends and values
/// may be infinite where a member timed out or diverged; the estimate is absent where infinities leave it undefined.
/// Read `interval` on its own.
struct CellEstimate {
  unsigned cell = 0;  // index in its comparison or criterion
  std::optional<double> estimate;
  /// The one that decides its verdict, if it has one: at `confidence`.
  std::optional<stats::Interval> interval;
  double confidence =
      kConfidence;  // asked of `interval`: the criterion's, or more where looks or Holm's correction say
  std::vector<unsigned> looks =
      {};  // earlier ones, by their values: `interval` is the part common to these and this one
  Scope scope;
  std::vector<double> values;  // by block
  bool constant = false;       // exact metrics that never varied: the interval is the value
  /// Variation within and between sessions, for values of several sessions; ratios are taken as logs. The interval
  /// allows for differences between sessions.
  std::optional<stats::Spreads> spreads = std::nullopt;
  double correlation = 0;  // of a value with the one before: as large as the interval allows for
  double worth = 0;        // as many independent values its interval is made for
  double trend = 0;        // Kendall's tau of values that rise or fall all the time, which have no interval
  std::optional<ClockSteps> steps = std::nullopt;
  Verdict verdict = Verdict::NotRun;  // of the cell alone, for criteria
  CellState state = CellState::NotRun;
  plan::Worst worst = {};   // of all values: what makes some of them worse than every other
  unsigned diverged = 0;    // values of which a member diverged
  bool unfinished = false;  // the design still wants trials of it
  plan::Why why = nullptr;  // where it has no interval, or nothing to judge: what its state means, or what is lacking
  /// Trials ended well whose values cannot be used: no pass rests on the others alone.
  plan::Why unusable = nullptr;
  /// The interval that the cell would have if it were the only one, where Holm's correction decides: then `interval` is
  /// the corrected one, or absent where there are too few values for that.
  std::optional<stats::Interval> uncorrected = std::nullopt;
};

struct ComparisonResult {
  std::string name;
  std::vector<CellEstimate> cells;
};

/// Which look at its data a criterion's verdict is from.
struct Look {
  std::vector<unsigned> before;  // repetitions at the earlier ones, rising
  unsigned now = 0, of = 0;      // at this one, and at the last that is planned
  double confidence = 0;         // of its intervals, so that all looks together keep the criterion's
  unsigned unread = 0;           // earlier runs that may have judged it: what they judged is not known, so they count
  unsigned other_versions = 0;   // earlier verdicts on it with other versions of the program: they do not count
  /// Repetitions at the earlier look that decided the criterion. Its verdict stands, although this look by itself would
  /// leave the criterion open.
  std::optional<unsigned> decided_at = std::nullopt;
};

/// The effect of further blocks on an undecided criterion (simulate/forecast.h).
struct NextStep {
  /// Decides: its verdict. Intervals: cells that have too few values
  /// get one. OutOfReach: it would take more than a thousand further blocks. Trend: values drift, so that blocks
  /// decide nothing. NotSimulated: the study is too large to be simulated in passing. Sessions: they differ, so that
  /// further ones are needed.
  enum class Reach { Decides, Intervals, OutOfReach, Trend, NotSimulated, Sessions };
  Reach reach = Reach::Decides;
  unsigned blocks = 0;                      // further ones, of Decides and OutOfReach in 80 % of studies; 0: not known
  unsigned repetitions = 0;                 // that the design then has in all
  std::optional<double> seconds = {};       // that the blocks take; absent: unknown
  Verdict towards = Verdict::Inconclusive;  // of Decides: what most of these studies end with, where they clearly do
  bool further_look = true;                 // whether verdicts were seen before them, so that intervals get wider
  unsigned sessions = 0;                    // in all, of Sessions in 80 % of studies; 0: more than kMostSessions
  /// Further blocks that would do if the estimates were the true values, as a diagnosis takes them; 0: not fewer.
  unsigned at_estimate = 0;

  /// Whether running that many blocks helps.
  bool helps() const { return reach <= Reach::Intervals; }
};

/// The difference that an identical setting shows within a block, in one metric: the later of the two runs against the
/// earlier. A control that runs alone compares its trials with those of its point.
struct ControlResult {
  std::string name, point, metric;
  bool ratio = true;             // else a difference
  CellEstimate estimate;         // at controlConfidence
  std::optional<double> margin;  // half the smallest gap (or reach of a band) claimed of the metric; absent: none is
  bool untrusted = false;        // it differs, and by what may be more than the margin
};

/// A control whose interval leaves what a criterion holds it to: 1 ± half of a gap, of a difference 0 ± half of it.
struct Distrust {
  ControlResult control;
  double gap = 0;
  bool own = false;  // the criterion's; else the smallest that is claimed of the metric
};

/// A condition of a verdict's error rate that is not met, or was not checked.
struct Condition {
  enum Code {
    Independent,  // values may be correlated: not checked, or by `number` and not allowed for
    Correlated,   // they are correlated: no more than intervals allow for (`number`)
    LostAlike,    // as many trials (`number`) gave no value
    OneSession,   // all values come from one session
    TwoSessions,  // or from two, which hardly show how much sessions differ
    SingleArm     // no second arm shares what blocks have in common
  };
  Code code;
  double number = 0;
};

struct CriterionResult {
  std::string name;
  Verdict verdict = Verdict::NotRun;
  plan::Why why = nullptr;  // where its cells do not tell
  Scope scope;              // the smallest over the cells; sessions and nodes the largest
  std::vector<CellEstimate> cells;
  /// A control shows a difference, so that the verdict cannot be trusted. It stays what the intervals make it.
  std::optional<Distrust> untrusted = std::nullopt;
  /// A control shows no difference and has too few blocks, at its noise, to exclude one of half the gap.
  std::optional<Distrust> unshown = std::nullopt;
  std::optional<Look> look = std::nullopt;  // absent: this look is the only one
  unsigned other_looks = 0;                 // Look::other_versions, also of an only look
  /// Trials that its verdict (pass or fail) rests on are still wanted: it may change, and counts as undecided.
  bool provisional = false;
  bool every_trial = false;                // it claims that each single trial satisfies the bound: no confidence
  std::vector<Condition> conditions = {};  // in the order of their codes
  /// Absent: decided, something else than blocks is lacking, or nobody asked (simulate::advise sets it).
  std::optional<NextStep> next = std::nullopt;

  /// Whether the verdict stands as it is printed.
  bool isFinal() const { return !untrusted && !provisional; }
};

/// How wide the widest interval of an `until` is.
struct UntilState {
  TrialKind kind = TrialKind::Timed;
  plan::Until until;
  std::optional<double> widest;  // in the sense of the `until`; absent: some cell has no interval yet
  std::string where;             // the labels of that cell
  unsigned blocks = 0;           // repetitions so far, and the most there can be
  unsigned most = 0;
  bool met = false;
  bool over = false;  // met, or no further block can narrow anything that is asked
};

/// How the trials of a place ended. Trials that failed, timed out or were disturbed are counted with every attempt, the
/// others in blocks.
struct Endings {
  unsigned valid = 0, failed = 0, timeouts = 0, invalid = 0;
  unsigned infeasible = 0;         // blocks with an out-of-memory, even if another attempt ended well
  unsigned ended = 0;              // repetitions with a value
  unsigned superseded = 0;         // timeouts under a smaller limit than another trial had: no values
  double limit = 0;                // seconds: the largest that a timeout met
  std::string last_reason = "";    // of the newest that did not end well
  std::string memory_reason = "";  // of the newest that ran out of memory
};

struct PointStatus : Endings {
  std::string point;
  TrialKind kind = TrialKind::Timed;
  unsigned planned = 0;
  unsigned lost = 0;                            // repetitions in which every attempt failed
  std::vector<std::string> not_on_device = {};  // metrics that its trials found no way to measure, by name
  bool lacking = false;                         // some repetitions are not there, and none is asked for any more
  bool needs_limit = false;  // some superseded timeouts run again only under a larger limit than the study's

  /// Out of memory in some blocks, and not in others.
  bool unstable() const { return infeasible > 0 && valid > 0; }
  /// Some trials timed out, and none is valid.
  bool onlyTimesOut() const { return timeouts > 0 && valid == 0; }
};

/// A result that was asked for and has no value, or has trials whose values cannot be used. It keeps its claims from a
/// pass, a check mark and an exit code of 0.
struct Missing {
  std::string what;  // "timed case=big", "gain at build=new"
  plan::Why why;
  Verdict verdict;  // Broken, Inconclusive or NotRun
};

struct Judgement {
  bool unfinished = false;   // the design still wants trials
  double spent_seconds = 0;  // that all trials took, as the budget counts them
  bool null_cards = false;   // of measurements on cards that compute nothing: no verdict is one
  std::vector<PointStatus> points;
  std::vector<Summary> summaries;
  std::vector<ComparisonResult> comparisons;
  std::vector<CriterionResult> criteria;
  std::vector<ControlResult> controls;
  std::vector<UntilState> untils;
  std::vector<Missing> missing;  // points, metrics at points, cells of comparisons; criteria speak for themselves

  const Summary* find(const std::string& point, const std::string& metric) const;
  const PointStatus* status(const std::string& point, TrialKind kind) const;

 private:
  // Where they are: made when somebody asks, and again when there are others.
  mutable std::map<std::pair<std::string, std::string>, size_t> summaries_at_;
  mutable std::map<std::pair<std::string, TrialKind>, size_t> points_at_;
};

}  // namespace expc::judge

namespace expc {
using judge::CellEstimate, judge::CriterionResult, judge::Judgement, judge::PointStatus, judge::Verdict;
}
