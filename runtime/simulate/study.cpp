// Draws one study. The engine's own rules decide which trials it wants (judge::nextBlock), when it may stop and
// what its verdicts are; only the trials come from a random stream in place of a machine. So a change of these
// rules changes what is simulated, without a second statement of them. One set of trials is judged under several
// scenarios: a scenario moves the bounds, which equals moving the truth, and scenarios that a look has ended are
// closed while trials go on for the others.

#include "runtime/simulate/study.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <tuple>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/judge/criteria.h"
#include "runtime/judge/needs.h"
#include "runtime/plan/command.h"
#include "runtime/plan/evaluate.h"

namespace expc::simulate {
namespace {

/// Distance between the block numbers of two kinds: each kind numbers its blocks from 1, and the index needs
/// numbers that differ.
constexpr int64_t kBlocksOfKind = int64_t(1) << 32;

/// Whether the term reads a series as it goes (epochs_to, max_gap, p99). Only last values are drawn, so it cannot be
/// simulated.
bool readsCourse(const plan::Term& term) {
  return term.as<plan::FirstTerm>() || term.as<plan::GapTerm>() || term.as<plan::ReduceTerm>();
}

/// How far an interval reaches on its wider side, as a share of the estimate or in its unit. Three cases have no
/// interval to read: with too few values, and for a claim about each trial, half the range of the values is taken;
/// for a single value its distance from the truth.
double reachOf(const CellEstimate& estimate, double truth, bool of_interval, bool as_share) {
  if (!estimate.estimate || estimate.values.empty()) return kNone;
  const double centre = *estimate.estimate;
  const auto [low, high] = std::ranges::minmax_element(estimate.values);
  const double reach = of_interval && estimate.interval
                           ? std::max(estimate.interval->high - centre, centre - estimate.interval->low)
                       : estimate.values.size() == 1 ? std::abs(centre - truth)
                                                     : (*high - *low) / 2;
  return as_share ? reach / std::abs(centre) : reach;
}

/// Whether noise multiplies every metric that the term reads.
bool multiplies(const Plan& plan, const Model& model, const plan::Term& term) {
  return std::ranges::all_of(plan::measuredTerms(plan, term), [&](const MetricTerm& part) {
    return std::ranges::all_of(
        model.metrics, [&](const MetricModel& metric) { return metric.name != part.metric || metric.multiplies; });
  });
}

/// The step in which values of the cell can be read, if it is a metric of one point. Differences and ratios have a
/// finer grid: 0.
double stepOf(const Model& model, const plan::Cell& cell) {
  const auto* term = cell.term->as<MetricTerm>();
  const MetricModel* metric = term ? base::named(model.metrics, term->metric) : nullptr;
  return metric ? metric->resolution.step() : 0;
}

/// Whether a factor moves the truth of an assertion (Study::by_factor). One cell that needs a distance makes all of
/// them need one.
bool isMovedByFactor(const Plan& plan, const Model& model, const Criterion& criterion, size_t assertion,
                     const std::vector<double>& truths) {
  for (const auto& [i, cell] : llvm::enumerate(criterion.cells)) {
    if (cell.assertion != assertion || isSeen(criterion, cell)) continue;
    const std::vector<double> ends = plan::ends(plan::boundOf(criterion, cell));
    if (cell.estimator == Estimator::PairedDifference || !(truths[i] > 0) || stepOf(model, cell) > 0 ||
        std::ranges::any_of(ends, [](double end) { return end <= 0; }) || !multiplies(plan, model, *cell.term))
      return false;
  }
  return true;
}

/// Whether a cell still wants trials, so that its verdict would be provisional.
bool isUnfinished(const judge::MeasuredCriterion& measured) {
  return std::ranges::any_of(measured.cells, [](const auto& cell) { return cell.estimate.unfinished; });
}

}  // namespace

bool anyPart(const Plan& plan, const plan::Term& term, function_ref<bool(const plan::Term&)> holds) {
  bool any = false;
  plan::forEachTerm(term, [&](const plan::Term& one) {
    const auto* metric = one.as<MetricTerm>();
    const Metric* declared = metric ? plan.findMetric(metric->metric) : nullptr;
    any |= holds(one) || (declared && declared->derived && anyPart(plan, *declared->derived, holds));
  });
  return any;
}

plan::Why whyNotSimulated(const Plan& plan, const Criterion& criterion) {
  using plan::Reason;
  if (criterion.not_asked || criterion.cells.empty()) return plan::because({Reason::NotOfThesePoints});
  if (std::ranges::all_of(criterion.cells, [&](const plan::Cell& cell) { return isSeen(criterion, cell); }))
    return plan::because({Reason::NoMatterOfNoise});
  for (const plan::Cell& cell : criterion.cells)
    if (anyPart(plan, *cell.term, readsCourse)) return plan::because({Reason::ReadsCourse});
  return nullptr;
}

/// One study under way. Lives on one thread, for one draw.
class Run {
 public:
  Run(const Study& study, const std::vector<Scenario>& scenarios, uint64_t seed)
      : study_(study), scenarios_(scenarios), index_(study.plan), stream_(seed), open_(scenarios.size(), true) {
    // An index in a run applies the policy of a run: retries, giving up, and looks count as they do in the engine.
    index_.startRun({});
    drawn_.endings.resize(scenarios.size());
    spent_.resize(scenarios.size());
    drawn_.coverage.resize(study.plan.criteria.size());
    for (const std::vector<bool>& assertions : study.by_factor) drawn_.reach.emplace_back(assertions.size(), kNone);
  }

  Drawn all() {
    for (const Study::Kind& kind : study_.kinds) runKind(kind);
    judgeOpen(nullptr);
    return std::move(drawn_);
  }

 private:
  /// Draws blocks until no trial is wanted. The index knows the plan's own bounds only. If a look ends the study
  /// under these but another scenario is still open, the last block's places are repeated, as they would be for
  /// that scenario.
  void runKind(const Study::Kind& kind) {
    const TrialKind which = kind.design->kind;
    open_.assign(scenarios_.size(), true);
    std::vector<Place> places, last;
    for (int64_t block = 1;; ++block) {
      places = judge::nextBlock(index_, which);
      if (places.empty()) {
        if (!is_contained(open_, true) || kind.design->looks.empty() || !judge::endedAtLook(index_)) break;
        places = last;
      }
      if (budgetIsSpent()) break;
      const uint64_t trials = index_.tally().trials;
      const double seconds = index_.spentSeconds();
      for (const Place& place : places) runPlace(kind, place, block);
      // A block is charged to the scenarios that were open when it began.
      for (size_t i = 0; i < open_.size(); ++i) {
        if (!open_[i]) continue;
        ++drawn_.endings[i].blocks[which];
        drawn_.endings[i].trials[which] += index_.tally().trials - trials;
        drawn_.endings[i].seconds[which] += index_.spentSeconds() - seconds;
      }
      last = places;
      const unsigned repetitions = judge::fewestRepetitions(index_, which);
      const auto& looks = kind.design->looks;
      if (is_contained(looks, repetitions)) judgeOpen(&which);
    }
  }

  bool budgetIsSpent() const {
    const std::optional<double>& budget = study_.plan.design.budget_seconds;
    return budget && index_.spentSeconds() >= *budget;
  }

  /// Draws trials of a place until one ends it. A trial that failed or is invalid is repeated, as often as in a
  /// run.
  void runPlace(const Study::Kind& kind, const Place& place, int64_t block) {
    unsigned failed = 0, invalid = 0;
    while (failed < index_.policy()->attempts && invalid < study_.plan.design.validity.attempts) {
      const TrialStatus status = add(kind, place, block, failed + invalid + 1);
      failed += status == TrialStatus::Failed;
      invalid += status == TrialStatus::Invalid;
      if (status != TrialStatus::Failed && status != TrialStatus::Invalid) return;
    }
  }

  bool happens(double chance) { return chance > 0 && stream_.uniform() < chance; }

  /// Draws how a trial ends, in the order in which the shares were counted: failures of all trials, then trials out
  /// of memory, then disturbed ones, then timeouts.
  TrialStatus drawStatus(const PointEnds& ends) {
    if (happens(study_.model.lost)) return TrialStatus::Failed;
    if (happens(ends.infeasible)) return TrialStatus::Infeasible;
    if (happens(study_.model.disturbed)) return TrialStatus::Invalid;
    return study_.timeouts && happens(ends.timeouts) ? TrialStatus::Timeout : TrialStatus::Valid;
  }

  /// Draws one trial and adds it to the index. Returns how it ended.
  TrialStatus add(const Study::Kind& kind, const Place& place, int64_t block, unsigned attempt) {
    const unsigned number = *index_.number(place);
    const size_t point = study_.point_of[number];
    Trial trial;
    trial.id = ++trials_;
    trial.key = kind.keys[number];
    trial.block = block + kBlocksOfKind * int64_t(kind.design->kind);
    trial.session = sessionOf(block);
    trial.attempt = attempt;
    trial.seconds = kind.seconds;
    trial.status = drawStatus((*kind.ends)[point]);
    if (trial.status == TrialStatus::Timeout) {
      trial.seconds = (*kind.ends)[point].limit;
      trial.limit = INFINITY;  // counts, as stored timeouts do
    }
    if (trial.status == TrialStatus::Valid) drawTrial(kind, number, block, trial);
    index_.add(trial);
    return trial.status;
  }

  /// Draws the values of a valid trial. All metrics of the trial use one row of residuals, so that they move
  /// together; a metric that the row lacks is drawn from a normal distribution.
  void drawTrial(const Study::Kind& kind, unsigned number, int64_t block, Trial& trial) {
    const std::vector<double>* residuals = nullptr;
    if (kind.residuals) residuals = &(*kind.residuals)[size_t(stream_.uniform() * double(kind.residuals->size()))];
    common_.clear();
    const std::vector<size_t>& rows = study_.rows_of[number];
    if (rows.empty()) return drawValues(kind, study_.point_of[number], block, residuals, 0, trial.metrics);
    // Without measured residuals half of the variance is the process's own, which moves all of its rows.
    for (size_t i = 0; i < kind.metrics.size(); ++i) common_.push_back(stream_.next());
    for (size_t at = 0; at < rows.size(); ++at) {
      const Point& point = study_.plan.points[rows[at]];
      const std::string key = plan::rowKey(*study_.plan.workloads[point.workload].command, point.parameters);
      drawValues(kind, rows[at], block, residuals, at, trial.rows[key].metrics);
    }
    for (const size_t index : kind.metrics) {
      const std::string& name = study_.model.metrics[index].name;
      const Metric* metric = study_.plan.findMetric(name);
      if (!metric || !metric->of_process) continue;
      trial.metrics[name] = trial.rows.begin()->second.metrics[name];
      for (auto& [key, row] : trial.rows) row.metrics.erase(name);
    }
  }

  /// Draws the values of one point. @param at the position of the point among those of its process
  void drawValues(const Study::Kind& kind, size_t point, int64_t block, const std::vector<double>* residuals, size_t at,
                  std::map<std::string, double>& values) {
    const Model& model = study_.model;
    for (size_t i = 0; i < kind.metrics.size(); ++i) {
      const MetricModel& metric = model.metrics[kind.metrics[i]];
      const size_t column = i + at * kind.metrics.size();
      const int64_t session = sessionOf(block);
      // Sessions are keyed by negative numbers, so that they share one map with blocks.
      double deviation = metric.drift * shared(kind.metrics[i], kNoPoint, block) +
                         metric.shared * shared(kind.metrics[i], kNoPoint, -session) +
                         metric.apart * shared(kind.metrics[i], point, -session);
      if (metric.noise > 0) {
        const bool stored = residuals && column < residuals->size() && !std::isnan((*residuals)[column]);
        const double drawn = model.shape ? model.shape(stream_, point) : stored ? (*residuals)[column] : stream_.next();
        const double own = stored || common_.empty() ? drawn : std::sqrt(0.5) * (common_[i] + drawn);
        // First-order autoregressive noise: its variance is that of `own` for any `carried`.
        carried_ = model.carried * carried_ + std::sqrt(1 - model.carried * model.carried) * own;
        deviation += metric.noise * (model.carried > 0 ? carried_ : own);
      }
      const double centre = metric.centres[point];
      values[metric.name] =
          metric.resolution.rounded(metric.multiplies ? centre * std::exp(deviation) : centre + deviation);
    }
  }

  /// The session that a block falls into, from 1; the last session takes all further blocks.
  int64_t sessionOf(int64_t block) const {
    const unsigned blocks = study_.model.blocks_of_session;
    return blocks == 0 ? 1 : 1 + std::min<int64_t>((block - 1) / blocks, study_.model.sessions - 1);
  }

  static constexpr size_t kNoPoint = SIZE_MAX;

  /// A standard normal number that all trials of a block share (`by` > 0), or all trials of a session (`by` is the
  /// negative of its number), of one point or of all (kNoPoint). Drawn at the first question. Effects of size 0
  /// draw nothing, so the stream does not move.
  double shared(size_t metric, size_t point, int64_t by) {
    const MetricModel& model = study_.model.metrics[metric];
    if ((by > 0 ? model.drift : point == kNoPoint ? model.shared : model.apart) == 0) return 0;
    const auto [at, fresh] = shared_.try_emplace({metric, point, by}, 0);
    if (fresh) at->second = stream_.next();
    return at->second;
  }

  /// Judges the trials drawn so far under each scenario, and closes the scenarios that this look of a kind decides.
  /// `look` is null at the end of the study.
  void judgeOpen(const TrialKind* look) {
    const Plan& plan = study_.plan;
    // Trials that the budget cut off are still wanted, so their verdicts stay open.
    const judge::Evidence evidence = budgetIsSpent() ? judge::gather(index_) : judge::Evidence{index_, {}};
    // Intervals do not depend on bounds, so they are computed once for all scenarios, each of which asks two questions.
    std::vector<judge::MeasuredCriterion> measured(plan.criteria.size());
    for (size_t c = 0; c < plan.criteria.size(); ++c) {
      if (whyNotSimulated(plan, plan.criteria[c])) continue;
      measured[c] = judge::measureCriterion(evidence, plan.criteria[c]);
      for (judge::MeasuredCell& cell : measured[c].cells) cell.intervals = cell.intervals.computed(2 * open_.size());
    }
    const std::vector<std::optional<judge::Distrust>> untrusted = untrustedOf(evidence);
    for (size_t s = 0; s < scenarios_.size(); ++s) {
      if (look && !open_[s]) continue;
      std::vector<CriterionResult> results(plan.criteria.size());
      for (size_t c = 0; c < plan.criteria.size(); ++c) {
        results[c].verdict = Verdict::Inconclusive;
        results[c].untrusted = untrusted[c];
        if (!measured[c].cells.empty())
          results[c].verdict = judge::decideCriterion(scenarios_[s][c], measured[c]).verdict;
        if (isUnfinished(measured[c])) results[c].verdict = Verdict::Inconclusive;
      }
      if (look) open_[s] = !judge::lookDecides(plan, *look, results);
      if (!look || !open_[s]) note(s, look, results, measured);
    }
  }

  /// For each criterion the reason why a control leaves it untrusted, if any. Controls are judged as if every
  /// criterion had passed, because the answer must hold for every scenario's verdict.
  std::vector<std::optional<judge::Distrust>> untrustedOf(const judge::Evidence& evidence) const {
    std::vector<std::optional<judge::Distrust>> untrusted(study_.plan.criteria.size());
    if (study_.plan.controls.empty()) return untrusted;
    Judgement judgement;
    for (const Criterion& criterion : study_.plan.criteria) {
      judgement.criteria.emplace_back();
      judgement.criteria.back().name = criterion.name;
      judgement.criteria.back().verdict = Verdict::Pass;
    }
    judge::judgeControls(evidence, judgement);
    for (size_t c = 0; c < untrusted.size(); ++c) untrusted[c] = judgement.criteria[c].untrusted;
    return untrusted;
  }

  /// Keeps the verdicts of a scenario that ends here. A look decides criteria of its own kind only, and these keep
  /// what it decided.
  void note(size_t s, const TrialKind* look, const std::vector<CriterionResult>& results,
            const std::vector<judge::MeasuredCriterion>& measured) {
    Ending& ending = drawn_.endings[s];
    std::vector<bool>& kept = spent_[s];
    ending.verdicts.resize(results.size(), Verdict::Inconclusive);
    kept.resize(results.size());
    ending.untrusted.resize(results.size());
    ending.cut_off.resize(results.size());
    for (size_t c = 0; c < results.size(); ++c) {
      const bool of_kind = look && judge::isLookedAt(study_.plan.criteria[c], *look);
      if (kept[c] || (look && !of_kind)) continue;
      ending.verdicts[c] = results[c].untrusted ? Verdict::Inconclusive : results[c].verdict;
      ending.untrusted[c] = results[c].untrusted.has_value();
      ending.cut_off[c] = isUnfinished(measured[c]);
      if (s == 0) noteIntervals(c, measured[c].cells);
      kept[c] = of_kind;
    }
  }

  /// Counts coverage and reach of a criterion's cells. The slack forgives rounding, as verdicts do.
  void noteIntervals(size_t c, const std::vector<judge::MeasuredCell>& cells) {
    const Criterion& criterion = study_.plan.criteria[c];
    std::vector<std::pair<double, unsigned>> reaches(drawn_.reach[c].size());  // sum and number, by assertion
    for (size_t i = 0; i < cells.size(); ++i) {
      const CellEstimate& estimate = cells[i].estimate;
      const double truth = study_.truths[c][i], slack = 1e-12 * std::abs(truth);
      if (estimate.interval && !std::isnan(truth)) {
        ++drawn_.coverage[c].cells;
        drawn_.coverage[c].covered +=
            estimate.interval->low - slack <= truth && truth <= estimate.interval->high + slack;
      }
      const unsigned assertion = criterion.cells[i].assertion;
      const double own = reachOf(estimate, truth, criterion.confidence.has_value(), study_.by_factor[c][assertion]);
      if (!std::isfinite(own)) continue;
      reaches[assertion].first += own;
      ++reaches[assertion].second;
    }
    for (size_t a = 0; a < reaches.size(); ++a)
      if (const auto& [sum, count] = reaches[a]; count > 0) drawn_.reach[c][a] = sum / count;
  }

  const Study& study_;
  const std::vector<Scenario>& scenarios_;
  judge::Index index_;
  stats::NormalStream stream_;
  std::vector<bool> open_;                // by scenario: no look of the current kind has ended it
  std::vector<std::vector<bool>> spent_;  // by scenario and criterion: a look has decided it
  // Numbers that blocks and sessions share, by metric, point and block or session: see shared().
  std::map<std::tuple<size_t, size_t, int64_t>, double> shared_;
  std::vector<double> common_;  // by metric: what rows of the process under way share; empty: no process
  double carried_ = 0;
  int64_t trials_ = 0;
  Drawn drawn_;
};

/// Keys are built once: the index takes thousands of trials of each place, and a key holds strings.
Study studyOf(const Plan& plan, const Model& model, const std::vector<std::vector<double>>& truths) {
  Study study{plan, model, truths};
  const judge::Index index(plan);
  for (unsigned number = 0; number < index.places(); ++number) {
    // A process ends as its first point does.
    const std::vector<unsigned>& rows = index.rowsOf(number);
    const Point* point = index.point(index.place(rows.empty() ? number : rows.front()).point);
    study.point_of.push_back(size_t(point - plan.points.data()));
    study.rows_of.emplace_back();
    for (const unsigned row : rows) study.rows_of.back().push_back(study.point_of[row]);
  }
  for (size_t c = 0; c < plan.criteria.size(); ++c) {
    study.by_factor.emplace_back();
    for (size_t a = 0; a < std::max<size_t>(1, plan.criteria[c].assertions.size()); ++a)
      study.by_factor.back().push_back(isMovedByFactor(plan, model, plan.criteria[c], a, truths[c]));
    study.steps.emplace_back();
    for (const plan::Cell& cell : plan.criteria[c].cells)
      study.steps.back().push_back(cell.term ? stepOf(model, cell) : 0);
  }
  for (const KindDesign& design : plan.design.kinds) {
    if (design.kind == TrialKind::Profile) continue;  // no verdict rests on profiles
    Study::Kind kind{&design};
    for (size_t i = 0; i < model.metrics.size(); ++i)
      if (model.metrics[i].kind == design.kind) kind.metrics.push_back(i);
    if (const double* seconds = entryOf(model.seconds, design.kind)) kind.seconds = *seconds;
    if (const auto* residuals = entryOf(model.residuals, design.kind); residuals && !residuals->empty())
      kind.residuals = residuals;
    kind.ends = &model.ends.at(design.kind);
    for (unsigned number = 0; number < index.places(); ++number) {
      store::TrialKey key;
      key.place = index.place(number);
      key.kind = design.kind;
      kind.keys.push_back(std::make_shared<const store::TrialKey>(std::move(key)));
    }
    study.kinds.push_back(std::move(kind));
  }
  return study;
}

Drawn draw(const Study& study, const std::vector<Scenario>& scenarios, uint64_t seed) {
  return Run(study, scenarios, seed).all();
}

}  // namespace expc::simulate
