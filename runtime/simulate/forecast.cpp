// Extrapolates each open criterion from its stored cells. Whole studies are not simulated here (diagnosis does
// that): a report must appear at once, so a cell of a simulated study is a normal estimate with an error that
// shrinks with the root of the number of blocks, and only the decision (Holm, quantifiers, looks) is the real one.
// The search for the number of blocks is a bisection, since more blocks decide more studies.

#include "runtime/simulate/forecast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/base/find.h"
#include "runtime/base/llvm.h"
#include "runtime/describe/description.h"
#include "runtime/describe/losses.h"
#include "runtime/judge/criteria.h"
#include "runtime/judge/judge.h"
#include "runtime/judge/needs.h"
#include "runtime/plan/evaluate.h"
#include "runtime/simulate/diagnosis.h"
#include "runtime/stats/design.h"
#include "runtime/stats/distributions.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/spreads.h"

namespace expc::simulate {
namespace {

using judge::CellState;
using judge::LookHistory;
using judge::MeasuredCell;
using judge::MeasuredCriterion;
using judge::NextStep;
using Reach = NextStep::Reach;

constexpr size_t kStudies = 200;          // a share of 80 % then has a standard error of 3 points
constexpr unsigned kMostBlocks = 1000;    // the most further ones that are tried
constexpr double kClear = 2.0 / 3;        // share of decided studies from which on a verdict is named
constexpr size_t kMostWork = 20'000'000;  // the most of one judgement, in units of workOf(): about a second
constexpr uint64_t kSeed = 1;

/// Cost of a forecast: about how many values resampling draws and sorts. An estimate of few values takes time with
/// their square (all pairs).
size_t workOf(const std::vector<CellEstimate>& cells) {
  size_t work = 0;
  for (const CellEstimate& cell : cells)
    work += kStudies * cell.values.size() * std::min<size_t>(cell.values.size(), 50);
  return work;
}

/// Whether further blocks may change the cell's verdict.
bool isOpen(const CellEstimate& cell) {
  return cell.verdict == Verdict::Inconclusive || cell.verdict == Verdict::NotRun;
}

/// Whether the criterion is about single points and reads a metric with a trend over the run. Then more blocks of
/// the same run do not help.
bool drifts(const Plan& plan, const Criterion& criterion, const describe::Description& seen) {
  return std::ranges::any_of(criterion.cells, [&](const plan::Cell& cell) {
    if (plan::isPaired(cell)) return false;
    const std::vector<MetricTerm> read = plan::measuredTerms(plan, *cell.term);
    return std::ranges::any_of(seen.drifts, [&](const describe::Drift& drift) {
      const auto reads = [&](const MetricTerm& term) { return term.metric == drift.metric; };
      return drift.p <= describe::kTrend && std::ranges::any_of(read, reads);
    });
  });
}

constexpr size_t kLevels = 256;

/// The levels of a normal estimate's intervals, from 8 standard errors to each side (error 1e-15) inwards in 256 steps.
/// The table is computed once, since intervals are made for each cell of each study.
const std::array<double, kLevels>& levels() {
  constexpr double kWidest = 8;
  static const std::array<double, kLevels> alphas = [] {
    std::array<double, kLevels> all{};
    for (size_t k = 0; k < kLevels; ++k) all[k] = 2 * stats::normalCdf(-kWidest * (1 - double(k) / kLevels));
    return all;
  }();
  return alphas;
}

/// Student's intervals of an estimate; `reaches` has their half-widths at `levels`, in standard errors.
stats::NestedIntervals intervalsOf(double estimate, double error, const std::vector<double>& reaches) {
  return {estimate, kLevels, [](size_t k) { return levels()[k]; },
          [=, &reaches](size_t k) { return std::pair(estimate - error * reaches[k], estimate + error * reaches[k]); }};
}

/// The sampling distribution of one cell's estimate, on logarithms if the cell is a ratio.
struct Resampled {
  double estimate = 0;
  double error = 0;                // standard error of the estimate from the stored blocks
  double scatter = 0;              // standard error that their noise alone gives
  std::vector<double> deviations;  // by study: estimate of resampled blocks minus the mean of these
};

/// Forecasts one criterion: how many further blocks decide it. Made for one question and thrown away.
class Forecast {
 public:
  Forecast(const Plan& plan, const Criterion& criterion, MeasuredCriterion measured)
      : plan_(plan), criterion_(criterion), measured_(std::move(measured)) {
    for (const MeasuredCell& cell : measured_.cells)
      if (cell.estimate.state == CellState::Measured) {
        there_ = there_ ? std::min(there_, cell.estimate.scope.complete) : cell.estimate.scope.complete;
        if (isOpen(cell.estimate) && sessionsDiffer(cell))
          sessions_ = std::max(sessions_, cell.estimate.spreads->sessions);
      }
  }

  /// The advice, or nothing if blocks cannot help. Tried in this order: intervals at all, the end of the current
  /// design, further blocks.
  std::optional<NextStep> next() {
    if (const auto intervals = forIntervals()) return intervals;
    if (there_ == 0) return std::nullopt;
    for (const MeasuredCell& cell : measured_.cells) cells_.push_back(resampled(cell));
    // While the design still has blocks, these cost no look. They are the advice if they decide.
    if (sessions_ > 0) return bySessions();
    if (unfinished() && most() > there_) {
      const Share end = shareAt(most());
      if (end.decided() >= kPower) return stepTo(most(), end, false);
    }
    // Otherwise the design's end is the first look, and what is searched beyond it is a further one.
    if (!measured_.standing.history.ended && unfinished()) measured_.standing.history.ended = most();
    std::optional<NextStep> next = search();
    if (!next) return next;
    at_estimate_ = true;
    if (const auto fewer = search(); fewer && fewer->blocks < next->blocks) next->at_estimate = fewer->blocks;
    return next;
  }

 private:
  /// Numbers of simulated studies that would pass and fail. The others stay open.
  struct Share {
    size_t pass = 0, fail = 0;
    double decided() const { return double(pass + fail) / kStudies; }
  };

  bool unfinished() const {
    return std::ranges::any_of(measured_.cells, [](const MeasuredCell& cell) { return cell.estimate.unfinished; });
  }
  /// Repetitions of the design at most.
  unsigned most() const {
    const KindDesign* design = plan::designOf(plan_, criterion_.cells.front().kind);
    return design ? design->most() : 0;
  }
  /// The history of looks, with the current verdict as one of them.
  LookHistory afterThis() const { return judge::afterwards(criterion_, measured_.cells, measured_.standing); }

  /// Fills in a step of `blocks` further blocks. Lost blocks are asked for again, since the design counts
  /// repetitions that ended.
  NextStep step(Reach reach, unsigned blocks, bool further) const {
    unsigned lost = 0, planned = 0;
    for (const MeasuredCell& cell : measured_.cells) {
      lost = std::max(lost, cell.estimate.scope.lost);
      planned = std::max(planned, cell.estimate.scope.planned);
    }
    return {.reach = reach,
            .blocks = blocks,
            .repetitions = std::max(there_ + blocks + lost, planned),
            .further_look = further};
  }

  /// The number of blocks that gives intervals, if no open cell has one. A `forall` needs an interval for all cells
  /// (the largest number), an `exists` for the first one (the smallest). Nothing if an open cell has an interval
  /// already: then intervals are not what is missing.
  std::optional<NextStep> forIntervals() const {
    const bool exists = criterion_.claim.kind == plan::Claim::Kind::Exists;
    std::optional<unsigned> blocks;
    bool further = false;
    for (const MeasuredCell& cell : measured_.cells) {
      if (cell.estimate.state != CellState::Measured) continue;
      if (cell.estimate.interval || cell.fewest <= cell.estimate.scope.complete) {
        if (isOpen(cell.estimate)) return std::nullopt;
        continue;
      }
      const auto [fewest, is_further] = fewestFor(cell);
      const unsigned own = fewest - cell.estimate.scope.complete;
      if (!blocks || (own < *blocks) == exists) blocks = own, further = is_further;
    }
    if (!blocks) return std::nullopt;
    return step(Reach::Intervals, *blocks, further);
  }

  /// The number of values that an interval of the cell takes, and whether that would be a further look. If there
  /// was already a verdict to see, or the design has ended, the look at more values is a further one, and its level
  /// depends on how many values there are then.
  std::pair<unsigned, bool> fewestFor(const MeasuredCell& cell) const {
    const judge::Standing& standing = measured_.standing;
    const bool on_the_way = cell.estimate.unfinished && cell.fewest <= most();
    const bool seen = standing.look.now >= stats::minimumPairs(*criterion_.confidence);
    if (!standing.history.ended && (!seen || on_the_way)) return {cell.fewest, false};
    // The more values there are then, the less strict the level of that look is. So the number that its level asks
    // for at the fewest values is enough.
    const LookHistory history = afterThis();
    const unsigned values = standing.look.now + cell.fewest - cell.estimate.scope.complete;
    const auto looks = history.spending(values, *history.ended, LookHistory::Place::Further);
    const double level = stats::nominalLevels(1 - *criterion_.confidence, looks).back();
    return {std::max(cell.fewest, judge::fewestFor(1 - level, cell)), true};
  }

  static bool sessionsDiffer(const MeasuredCell& cell) { return cell.estimate.spreads && cell.estimate.spreads->apart; }

  /// The sessions, of as many blocks each as those that there are, with which the criterion is decided.
  NextStep bySessions() const {
    std::vector<unsigned> ladder;
    for (unsigned n = std::max(3u, sessions_ + 1); n <= stats::kMostSessions; n += std::max(1u, n / 10))
      ladder.push_back(n);
    const auto first =
        std::ranges::partition_point(ladder, [&](unsigned n) { return !decidesEnough(there_ * n / sessions_); });
    NextStep next{.reach = Reach::Sessions};
    if (first != ladder.end()) next.sessions = *first;
    return next;
  }

  /// Half-widths of Student's intervals, in standard errors: normal ones for infinitely many degrees of freedom.
  const std::vector<double>& reachesOf(double freedoms) const {
    std::vector<double>& reaches = reaches_[freedoms];
    for (size_t k = reaches.size(); k < kLevels; ++k)
      reaches.push_back(std::isinf(freedoms) ? -stats::normalQuantile(levels()[k] / 2)
                                             : stats::studentQuantile(levels()[k], freedoms));
    return reaches;
  }

  bool isRatio(const MeasuredCell& cell) const {
    return criterion_.cells[cell.estimate.cell].estimator == Estimator::PairedRatio;
  }

  /// Estimates the sampling distribution of a cell by a bootstrap. Nothing for a cell that cannot be resampled: it
  /// did not vary, has one value, or an infinite one. Such a cell stays as it is in all studies.
  std::optional<Resampled> resampled(const MeasuredCell& cell) const {
    std::vector<double> values = cell.estimate.values;
    if (isRatio(cell))
      for (double& value : values) value = std::log(value);
    const auto finite = [](double value) { return std::isfinite(value); };
    if (cell.estimate.state != CellState::Measured || cell.estimate.constant || values.size() < 2 ||
        !std::ranges::all_of(values, finite) || !cell.estimate.estimate)
      return std::nullopt;
    const bool median = criterion_.cells[cell.estimate.cell].estimator == Estimator::Median;
    // Each value is moved by the difference of two others (a smoothed bootstrap). This gives the few values the
    // variance of their population, and medians other than those that were seen.
    const double moved = 1 / std::sqrt(2 * double(values.size() - 1));
    Resampled found{isRatio(cell) ? std::log(*cell.estimate.estimate) : *cell.estimate.estimate, 0, 0, {}};
    stats::NormalStream stream(kSeed);  // one seed for all cells, so that study i draws the same blocks in each
    if (sessionsDiffer(cell)) {
      found.error = found.scatter = cell.estimate.spreads->mean.error;
      for (size_t study = 0; study < kStudies; ++study) found.deviations.push_back(found.error * stream.next());
      return found;
    }
    const auto any = [&] {
      return values[std::min(values.size() - 1, size_t(stream.uniform() * double(values.size())))];
    };
    std::vector<double> drawn(values.size());
    double mean = 0, squares = 0;
    for (size_t study = 0; study < kStudies; ++study) {
      for (double& value : drawn) {
        value = any();
        const double one = any(), other = any();
        value += moved * (one - other);
      }
      found.deviations.push_back(*(median ? stats::orderStatistics(drawn) : stats::signedRank(drawn)).estimate());
      mean += found.deviations.back() / double(kStudies);
    }
    // Correlated values carry the information of `worth` independent ones, so their estimate scatters more than
    // resampled blocks show.
    const double worth = cell.estimate.worth, wider = worth > 0 ? std::sqrt(double(values.size()) / worth) : 1;
    for (double& deviation : found.deviations) {
      deviation = wider * (deviation - mean);
      squares += deviation * deviation;
    }
    found.error = found.scatter = std::sqrt(squares / double(kStudies - 1));
    // The cell's own interval allows for few values, looks and sessions, which resampling does not see. If it
    // implies a larger standard error, that one counts. A step of the clock widens an interval too, but does not
    // scatter.
    const auto& interval = cell.estimate.interval;
    if (!interval || cell.step > 0 || !(found.error > 0)) return found;
    const double width = isRatio(cell) ? std::log(interval->high / interval->low) : interval->high - interval->low;
    const double error = width / 2 / stats::normalQuantile((1 + interval->confidence) / 2);
    if (!std::isfinite(error) || error <= found.error) return found;
    for (double& deviation : found.deviations) deviation *= error / found.error;
    found.error = error;
    return found;
  }

  /// The cell's intervals in simulated study `study` if it has `values` values in all. A cell that is not resampled
  /// keeps its own intervals.
  stats::NestedIntervals intervalsAt(size_t i, size_t study, double values) const {
    const MeasuredCell& cell = measured_.cells[i];
    if (!cells_[i]) return cell.intervals;
    const auto& [estimate, widest, scatter, deviations] = *cells_[i];
    const double error = at_estimate_ ? scatter : widest, scale = widest > 0 ? error / widest : 1;
    const double there = cell.estimate.scope.complete, more = std::max(1.0, values - there);
    // The truth of this study lies one deviation from the stored estimate. Further blocks scatter about that truth
    // with another, independent deviation, which shrinks with the root of their number. The final estimate weighs
    // both by their numbers of values.
    const double truth = at_estimate_ ? estimate : estimate + deviations[study];
    const double seen = truth + scale * deviations[(study + 1) % kStudies] * std::sqrt(there / more);
    const double all = (there * estimate + more * seen) / (there + more);
    const double freedoms = sessionsDiffer(cell) ? cell.estimate.spreads->sessions * values / there - 1 : INFINITY;
    stats::NestedIntervals intervals = intervalsOf(all, error * std::sqrt(there / (there + more)), reachesOf(freedoms));
    if (cell.stopped_by_width) intervals = intervals.afterWidthStop();
    if (const double step = cell.step; step > 0)
      intervals = intervals.reaching([=](double) { return std::pair(all - step, all + step); });
    return isRatio(cell) ? intervals.mapped([](double log) { return std::exp(log); }) : intervals;
  }

  /// Shares of verdicts if the study continues to `values` values.
  Share shareAt(unsigned values) const {
    Share share;
    eachStudy(values, [&](const Share& so_far, size_t) { return share = so_far, true; });
    return share;
  }

  /// Whether `values` values decide kPower of the studies. Ends with the study that settles the question.
  bool decidesEnough(unsigned values) const {
    bool enough = false;
    eachStudy(values, [&](const Share& share, size_t studies) {
      enough = share.decided() >= kPower;
      const size_t left = kStudies - studies;
      return !enough && double(share.pass + share.fail + left) / kStudies >= kPower;
    });
    return enough;
  }

  /// Simulates studies of `values` values until `goes_on` returns false. It gets the numbers of verdicts and of studies
  /// after each one. The levels are those of the look that this would be.
  void eachStudy(unsigned values, function_ref<bool(const Share&, size_t studies)> goes_on) const {
    MeasuredCriterion future = measured_;
    if (measured_.standing.history.planned > 0) {
      const bool further = measured_.standing.history.ended || !unfinished();
      const LookHistory history = further ? afterThis() : measured_.standing.history;
      using Place = LookHistory::Place;
      future.standing.levels = stats::LookLevels(further ? history.spending(values, *history.ended, Place::Further)
                                                         : history.spending(values, values, Place::Planned));
    }
    for (MeasuredCell& cell : future.cells) cell.estimate.unfinished = false;
    Share share;
    for (size_t study = 0; study < kStudies; ++study) {
      for (size_t i = 0; i < cells_.size(); ++i) future.cells[i].intervals = intervalsAt(i, study, values);
      const Verdict verdict = judge::decideCriterion(criterion_, future).verdict;
      share.pass += verdict == Verdict::Pass;
      share.fail += verdict == Verdict::Fail || verdict == Verdict::Infeasible;
      if (!goes_on(share, study + 1)) return;
    }
  }

  /// The fewest blocks that decide kPower of the studies, from a ladder of numbers that grow by a tenth: finer
  /// steps are within the noise of 200 studies.
  std::optional<NextStep> search() const {
    constexpr double kStep = 1.1;
    std::vector<unsigned> ladder;
    const unsigned from =
        measured_.standing.history.ended ? std::max(there_, *measured_.standing.history.ended) : there_;
    for (double at = from + 1; at <= double(kMostBlocks) + there_; at = std::max(at + 1, at * kStep))
      ladder.push_back(unsigned(at));
    if (ladder.empty()) return std::nullopt;
    const Share most = shareAt(ladder.back());
    if (most.decided() < kPower) return outOfReach(most, ladder.back());
    const auto first = std::ranges::partition_point(
        ladder, [&](unsigned values) { return values < ladder.back() && !decidesEnough(values); });
    return stepTo(*first, shareAt(*first), true);
  }

  /// A step that reaches `values` values, with the verdict that it probably leads to.
  NextStep stepTo(unsigned values, const Share& share, bool further) const {
    NextStep next = step(Reach::Decides, values - there_, further);
    const double decided = share.pass + share.fail;
    if (double(share.pass) >= kClear * decided) next.towards = Verdict::Pass;
    if (double(share.fail) >= kClear * decided) next.towards = Verdict::Fail;
    return next;
  }

  /// Extrapolates beyond the largest number tried: the share of open studies falls with the root of the number of
  /// blocks, as the interval's width does. Nothing if a clock's step, a timeout or a missing value keeps cells
  /// open: blocks do not help then.
  std::optional<NextStep> outOfReach(const Share& share, unsigned values) const {
    const auto kept = [](const MeasuredCell& cell) {
      return cell.step > 0 || cell.estimate.state != CellState::Measured || cell.estimate.worst.timed_out;
    };
    if (std::ranges::any_of(measured_.cells, kept)) return std::nullopt;
    const double blocks = values * std::pow((1 - share.decided()) / (1 - kPower), 2);
    return NextStep{.reach = Reach::OutOfReach, .blocks = unsigned(std::min(1e9, blocks)) - there_};
  }

  const Plan& plan_;
  const Criterion& criterion_;
  MeasuredCriterion measured_;
  std::vector<std::optional<Resampled>> cells_;
  mutable std::map<double, std::vector<double>> reaches_;  // by degrees of freedom
  unsigned sessions_ = 0;                                  // of the open cells whose sessions differ; 0: there is none
  unsigned there_ = 0;                                     // values of the measured cell that has the fewest
  bool at_estimate_ = false;                               // whether the estimates are the true values
};

/// The duration of a block in seconds: the typical trial times the places that are still run. Absent if nothing is
/// known.
std::optional<double> secondsOf(const judge::Index& index, TrialKind kind) {
  unsigned places = 0;
  for (unsigned number = 0; number < index.places(); ++number)
    places += index.starts(number) == number && index.asked(kind, number) && index.runs(kind, number);
  const auto seconds = index.typicalSeconds(kind);
  return seconds ? std::optional(*seconds * places) : std::nullopt;
}

/// Whether a forecast is made.
bool isAsked(const Criterion& criterion, const CriterionResult& result) {
  return criterion.confidence && !criterion.infeasible && result.verdict == Verdict::Inconclusive &&
         std::ranges::none_of(result.cells, [](const CellEstimate& cell) { return cell.unusable != nullptr; });
}

}  // namespace

void advise(const Plan& plan, const Results& results, Conclusions& judgement) {
  std::optional<judge::Index> index;
  std::optional<judge::Evidence> evidence;
  size_t work = 0;
  for (size_t c = 0; c < judgement.criteria.size() && c < plan.criteria.size(); ++c) {
    const Criterion& criterion = plan.criteria[c];
    CriterionResult& result = judgement.criteria[c];
    if (judgement.null_cards || !isAsked(criterion, result)) continue;
    if (drifts(plan, criterion, judgement.description)) {
      result.next = NextStep{.reach = Reach::Trend};
      continue;
    }
    // Measuring the cells again costs as much as judging them, so it is left out for criteria that are too large.
    work += workOf(result.cells);
    if (work > kMostWork) {
      result.next = NextStep{.reach = Reach::NotSimulated};
      continue;
    }
    // Most reports have no open criterion: the index is made for the first one only.
    if (!index) evidence.emplace(judge::gather(index.emplace(plan, results)));
    MeasuredCriterion measured = judge::measureCriterion(*evidence, criterion);
    // `measured` has no verdicts of its own; Holm over all cells gave them.
    for (size_t i = 0; i < measured.cells.size(); ++i) measured.cells[i].estimate.verdict = result.cells[i].verdict;
    // Further blocks of which kind decide it is not told apart.
    const bool kinds = !measured.others.empty();
    Forecast forecast(plan, criterion, std::move(measured));
    result.next = kinds ? NextStep{.reach = Reach::NotSimulated} : forecast.next();
    if (!result.next || !result.next->helps()) continue;
    // Timeouts have settled a point, so a block that the design already asks for would not run.
    if (const KindDesign* design = plan::designOf(plan, criterion.cells.front().kind);
        design && !judgement.unfinished && result.next->repetitions <= design->most() &&
        describe::onlyTimesOut(judgement, criterion)) {
      result.next.reset();
      continue;
    }
    if (const auto seconds = secondsOf(*index, criterion.cells.front().kind))
      result.next->seconds = *seconds * result.next->blocks;
  }
}

void advise(const Plan& plan, const Results& results, Diagnosis& diagnosis) {
  const Conclusions judgement = judge(plan, results);
  for (size_t c = 0; c < judgement.criteria.size(); ++c)
    if (CriterionDiagnosis& one = diagnosis.design.criteria[c]; one.known == "measured")
      one.next = judgement.criteria[c].next;
}

Conclusions judge(const Plan& plan, const Results& results) {
  Conclusions judgement = describe::conclude(plan, results);
  advise(plan, results, judgement);
  return judgement;
}

}  // namespace expc::simulate
