// Estimates a noise model from stored trials. Each metric's values (as logarithms, if all are above zero) are
// fitted as point + block + session of the point + residual. The residuals are the noise between trials; the block
// and session means, less the part that noise alone would give them, are drift, `apart` and `shared`. Residuals of
// one trial stay together in a row, so that drawn metrics are correlated as measured ones are.

#include "runtime/simulate/model.h"

#include <llvm/ADT/STLExtras.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "runtime/base/entry.h"
#include "runtime/base/find.h"
#include "runtime/base/format.h"
#include "runtime/judge/cells.h"
#include "runtime/judge/index.h"
#include "runtime/plan/evaluate.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"

namespace expc::simulate {
namespace {

/// With fewer degrees of freedom a standard deviation is hardly known: with 4 its 95 % interval goes from 0.6 to
/// 2.9 times the estimate (chi-square), and a stated or assumed noise is more honest.
constexpr unsigned kFewestFreedoms = 4;

/// A measurement of one metric in one valid trial.
struct Value {
  size_t point = 0;
  int64_t block = 0, trial = 0, session = 0;
  double value = 0;  // its logarithm if noise multiplies
  double residual = 0;
};

/// All finite values of valid trials. Values that timed out are left out: PointEnds has their share.
std::vector<Value> valuesOf(const judge::Index& index, const Metric& metric) {
  std::vector<Value> values;
  const auto column = index.column(metric.name);
  for (size_t point = 0; column && point < index.plan().points.size(); ++point) {
    if (!index.plan().tells(metric, index.plan().points[point])) continue;
    const judge::PlaceOutcomes& place = index.of(metric.kind, index.plan().points[point].id);
    for (const auto& [i, outcome] : llvm::enumerate(place.outcomes)) {
      const double value = place.values[*column][i];
      if (outcome.valid() && std::isfinite(value))
        values.push_back({point, outcome.block, outcome.trial, outcome.session, value});
    }
  }
  return values;
}

/// The standard deviation between groups, beyond the part that scatter inside groups gives their means: the
/// variance component of a one-way analysis of variance, 0 if it would be negative. `groups` maps a name to (mean,
/// number of values), as stats::takeMeans returns it; `freedoms` is the number of free differences between groups;
/// `inside` is the standard deviation within them.
double betweenGroups(const auto& groups, double freedoms, double inside) {
  double squares = 0, values = 0;
  for (const auto& [_, group] : groups) {
    squares += double(group.second) * group.first * group.first;
    values += double(group.second);
  }
  if (freedoms <= 0) return 0;
  return std::sqrt(std::max(0.0, squares / freedoms - inside * inside) * double(groups.size()) / values);
}

double squaresOf(const std::vector<double>& residuals) {
  return std::inner_product(residuals.begin(), residuals.end(), residuals.begin(), 0.0);
}

/// Estimates from block means how far sessions move all points alike, and how far blocks do within sessions. A
/// block mean scatters by noise alone too; that part is taken off the drift.
void findDrifts(const std::map<int64_t, double>& drifts, const std::vector<Value>& values, MetricModel& metric) {
  std::map<int64_t, int64_t> session_of;
  for (const Value& value : values) session_of[value.block] = value.session;
  std::vector<double> means;
  std::vector<int64_t> sessions;
  double mean = 0;
  for (const auto& [block, drift] : drifts) mean += drift / double(drifts.size());
  for (const auto& [block, drift] : drifts) means.push_back(drift - mean), sessions.push_back(session_of[block]);
  const auto groups = stats::takeMeans(means, [&](size_t i) { return sessions[i]; });
  const double blocks = double(means.size()), freedoms = blocks - double(groups.size());
  const double spread = freedoms > 0 ? squaresOf(means) / freedoms : 0;
  metric.shared = betweenGroups(groups, double(groups.size()) - 1, std::sqrt(spread));
  metric.drift = std::sqrt(std::max(0.0, spread - metric.noise * metric.noise * blocks / double(values.size())));
}

/// Fits points, blocks, and sessions of points additively, by taking turns at removing means (backfitting): with
/// holes in the design one turn is not enough, and 20 are far more than it takes to converge. With one point, a
/// block cannot be told from its trial, so there are no block effects. Sets noise, drift and variation between
/// sessions, and the residual of each value. Returns false, with nothing set, if too few degrees of freedom are
/// left.
bool fit(std::vector<Value>& values, MetricModel& metric) {
  constexpr int kTurns = 20;
  size_t points = 0, blocks = 1;
  std::map<int64_t, double> drifts;
  std::vector<double> residuals;
  std::set<int64_t> sessions;
  for (const Value& value : values) residuals.push_back(value.value), sessions.insert(value.session);
  for (int turn = 0; turn < kTurns; ++turn) {
    points = stats::takeMeans(residuals, [&](size_t i) { return values[i].point; }).size();
    if (points < 2) break;
    const auto means = stats::takeMeans(residuals, [&](size_t i) { return values[i].block; });
    blocks = means.size();
    for (const auto& [block, mean] : means) drifts[block] += mean.first;
  }
  // Each session beyond the first can move each point; with several points one movement is common to all and
  // belongs to the blocks already.
  const double of_sessions =
      double(sessions.size() - std::min<size_t>(1, sessions.size())) * double(points < 2 ? points : points - 1);
  const double freedoms = double(values.size() + 1) - double(points + blocks) - of_sessions;
  if (freedoms < kFewestFreedoms) return false;
  const auto groups =
      stats::takeMeans(residuals, [&](size_t i) { return std::pair(values[i].point, values[i].session); });
  const double squares = squaresOf(residuals);
  metric.noise = std::sqrt(squares / freedoms);
  metric.apart = betweenGroups(groups, of_sessions, metric.noise);
  if (points > 1) findDrifts(drifts, values, metric);
  metric.trials = values.size();
  metric.origin = Origin::Measured;
  // Centres are medians, so the noise needs its own median at zero. The scale is that of the residuals themselves,
  // so that drawing rows reproduces a standard deviation of 1.
  const double scale = std::sqrt(squares / double(values.size())), centre = *stats::medianOf(residuals);
  for (size_t i = 0; i < values.size(); ++i) values[i].residual = scale > 0 ? (residuals[i] - centre) / scale : 0;
  return true;
}

/// Sets each point's centre to the median of its values, and marks it as known.
void findCentres(const std::vector<Value>& values, MetricModel& metric) {
  std::map<size_t, std::vector<double>> by_point;
  for (const Value& value : values) by_point[value.point].push_back(value.value);
  for (const auto& [point, own] : by_point) {
    metric.centres[point] = *stats::medianOf(own);
    metric.known[point] = true;
  }
}

/// The position of a point among those of its process.
size_t placeInProcess(const Plan& plan, size_t point) {
  const Plan::Process* process = plan.findProcess(plan.points[point].process);
  return process ? size_t(std::ranges::find(process->rows, point) - process->rows.begin()) : 0;
}

/// Residuals of all metrics of a kind, by trial; NaN for a metric that the trial lacks. Those of the points of a
/// process stand one after the other.
using Rows = std::map<int64_t, std::vector<double>>;

/// The model of one metric. Stated noise goes before measured noise, which goes before assumed noise. Measured
/// residuals are put into `column` of the trial's row.
MetricModel modelOf(const judge::Index& index, const Metric& metric, const Assumptions& assumptions, size_t column,
                    size_t columns, Rows& rows) {
  MetricModel model;
  model.name = metric.name;
  model.kind = metric.kind;
  model.centres.assign(index.plan().points.size(), 1);
  model.known.assign(index.plan().points.size(), false);
  std::vector<Value> values = valuesOf(index, metric);
  std::vector<double> seen;
  for (const Value& value : values) seen.push_back(value.value);
  model.resolution = Resolution(std::move(seen), metric.dimension == "share" && !metric.derived);
  findCentres(values, model);
  for (double& centre : model.centres) centre = model.resolution.rounded(centre);
  model.multiplies = std::ranges::all_of(values, [](const Value& value) { return value.value > 0; });
  if (model.multiplies)
    for (Value& value : values) value.value = std::log(value.value);
  const double* stated = entryOf(assumptions.noise, metric.name);
  if (!stated && !metric.exact) stated = entryOf(assumptions.noise, "");
  if (stated) {
    model.noise = *stated;
    model.origin = Origin::Stated;
    // Stated noise is a share; without logarithms it becomes a distance in the metric's unit.
    if (!model.multiplies && !values.empty()) model.noise *= std::abs(values.front().value);
  } else if (fit(values, model)) {
    for (const Value& value : values) {
      const size_t at = column + columns * placeInProcess(index.plan(), value.point);
      std::vector<double>& row = rows[value.trial];
      if (row.size() <= at) row.resize(columns * (at / columns + 1), kNone);
      row[at] = value.residual;
    }
  } else if (!metric.exact) {
    model.noise = kAssumedNoise;
  }
  return model;
}

/// A report's estimates of each cell without trials that timed out: the truths that diagnose assumes. Timeouts are
/// drawn separately, so truths must not contain them.
std::vector<std::vector<std::optional<double>>> estimatesOf(const Plan& plan, const Results& stored) {
  judge::Index in_time(plan);
  for (const store::Session& session : stored.sessions) in_time.add(session);
  for (const Trial& trial : stored.trials)
    if (trial.status != TrialStatus::Timeout) in_time.add(trial);
  const judge::Evidence evidence{in_time, {}};
  std::vector<std::vector<std::optional<double>>> estimates;
  for (const Criterion& criterion : plan.criteria) {
    estimates.emplace_back();
    for (const plan::Cell& cell : criterion.cells)
      estimates.back().push_back(cell.term ? judge::measure(evidence, cell, judge::kConfidence).estimate.estimate
                                           : std::nullopt);
  }
  return estimates;
}

double shareOf(double some, double all) { return all > 0 ? some / all : 0; }

/// Shares of endings of a point's trials. Failed and disturbed trials are not counted here, since a run repeats
/// them.
PointEnds endsOf(const judge::PlaceOutcomes& place) {
  unsigned infeasible = 0, timeouts = 0, others = 0;
  double seconds = 0;
  for (const judge::Outcome& outcome : place.outcomes) {
    infeasible += outcome.out_of_memory;
    if (outcome.out_of_memory || !outcome.ended()) continue;
    ++others;
    if (outcome.valid()) continue;
    ++timeouts;
    seconds += outcome.limit;
  }
  return {shareOf(infeasible, infeasible + others), shareOf(timeouts, others), shareOf(seconds, timeouts)};
}

}  // namespace

Model modelOf(const Plan& plan, const Results& stored, const Assumptions& assumptions) {
  const judge::Index index(plan, stored);
  Model model;
  model.estimates = estimatesOf(plan, stored);
  for (const KindDesign& design : plan.design.kinds) {
    std::vector<const Metric*> metrics;
    for (const Metric& metric : plan.metrics)
      if (metric.kind == design.kind && !metric.derived) metrics.push_back(&metric);
    Rows rows;
    for (size_t i = 0; i < metrics.size(); ++i)
      model.metrics.push_back(modelOf(index, *metrics[i], assumptions, i, metrics.size(), rows));
    for (auto& [trial, row] : rows) model.residuals[design.kind].push_back(std::move(row));
    for (const Point& point : plan.points) model.ends[design.kind].push_back(endsOf(index.of(design.kind, point.id)));
    if (const auto seconds = index.typicalSeconds(design.kind)) model.seconds[design.kind] = *seconds;
  }
  std::set<int64_t> sessions;
  for (const Trial& trial : stored.trials)
    if (trial.status == TrialStatus::Valid) sessions.insert(trial.session);
  model.stored_sessions = sessions.size();
  model.sessions = assumptions.sessions.value_or(std::max(1u, model.stored_sessions));
  const judge::Tally& tally = index.tally();
  model.lost = assumptions.lost.value_or(shareOf(double(tally.failed), double(tally.trials)));
  // A disturbed trial that failed or ran out of memory keeps that status, so the share is that of the other trials.
  model.disturbed = shareOf(double(tally.invalid), double(tally.trials - tally.failed - tally.infeasible));
  return model;
}

/// A pilot measures noise only, so it stops as soon as the fit has kFewestFreedoms, asks for no profile, and takes
/// no look at a criterion.
Plan pilotOf(Plan plan) {
  const auto startable = unsigned(std::ranges::count_if(plan.started(), &Point::startable));
  // B blocks of P points leave (P - 1) (B - 1) degrees of freedom.
  const unsigned others = std::max(1u, startable) - 1;
  const unsigned blocks = others == 0 ? 1 + kFewestFreedoms : 1 + (kFewestFreedoms + others - 1) / others;
  for (KindDesign& design : plan.design.kinds) {
    design.repeat = design.repeat_most = std::min(design.repeat, blocks);
    design.until.clear();
    design.looks.clear();
  }
  std::erase_if(plan.design.kinds, [](const KindDesign& design) { return design.kind == TrialKind::Profile; });
  plan.criteria.clear();
  return plan;
}

std::optional<double> noiseOf(const Model& model, const Criterion& criterion) {
  if (criterion.cells.empty() || !criterion.cells.front().term) return std::nullopt;
  for (const MetricTerm& term : plan::metricTerms(*criterion.cells.front().term))
    if (const MetricModel* metric = base::named(model.metrics, term.metric); metric && metric->multiplies)
      return metric->noise;
  return std::nullopt;
}

std::string noiseText(const Model& model) {
  std::string text;
  for (const MetricModel& metric : model.metrics) {
    text += text.empty() ? "" : ", ";
    if (metric.noise == 0 && metric.origin == Origin::Assumed) {
      text += metric.name + " none (exact)";
      continue;
    }
    text += metric.multiplies ? fmt::format("{} {:.2g} %", metric.name, metric.noise * 100)
                              : fmt::format("{} {:.3g}", metric.name, metric.noise);
    text += metric.origin == Origin::Stated     ? " stated"
            : metric.origin == Origin::Measured ? fmt::format(" measured ({} trials)", metric.trials)
                                                : " assumed";
  }
  return text;
}

}  // namespace expc::simulate
