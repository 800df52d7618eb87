#include "runtime/analysis/course.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/analysis/judgement.h"
#include "runtime/analysis/readings.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"
#include "runtime/store/match.h"

namespace expc::analysis {
namespace {

/// What a course is of.
using Of = std::tuple<size_t, size_t, std::string>;  // metric and point by number, environment class
/// What a stay is of.
using In = std::tuple<size_t, int64_t, std::string, std::string>;  // history, session, build, data

struct Values {
  Stay stay;
  std::vector<double> values = {};
  bool failed = false;
};

/// Takes a trial into its stay, which begins with the first that has a value, or, without any, that failed.
void add(Values& to, const store::Trial& trial, const std::optional<double>& value) {
  const bool failed = trial.status == store::TrialStatus::Failed || trial.status == store::TrialStatus::Infeasible;
  if (value) {
    to.stay.started = to.values.empty() ? trial.started : std::min(to.stay.started, trial.started);
    to.values.push_back(*value);
  } else if (failed && !to.failed && to.values.empty()) {
    to.failed = true;
    to.stay.started = trial.started;
    to.stay.reason = trial.reason;
  }
}

Course courseOf(const plan::Plan& plan, const Of& of, std::map<In, Values>& stays) {
  const auto& [number, point, environment_class] = of;
  const plan::Metric& metric = plan.metrics[number];
  Course course{metric.name,      plan.label(plan.points[point]), metric.unit, metric.dimension, metric.better,
                environment_class};
  for (auto& [in, one] : stays) {
    const auto median = stats::orderStatistics(one.values).estimate();
    one.stay.n = static_cast<unsigned>(one.values.size());
    one.stay.median = median.value_or(0);
    if (median)
      course.stays.push_back(std::move(one.stay));
    else if (one.values.empty() && one.failed)
      course.lost.push_back(std::move(one.stay));
  }
  const auto when = [](const Stay& stay) { return std::tuple(stay.started, stay.side, stay.session); };
  std::ranges::sort(course.stays, {}, when);
  std::ranges::sort(course.lost, {}, when);
  if (!course.stays.empty())
    std::erase_if(course.lost, [&](const Stay& one) { return one.started <= course.stays.back().started; });
  return course;
}

std::vector<double> mediansOf(const Course& course) {
  std::vector<double> medians;
  for (const Stay& stay : course.stays) medians.push_back(stay.median);
  return medians;
}

}  // namespace

std::vector<Course> courses(const plan::Plan& plan, std::span<const store::History> histories,
                            const std::string& metric) {
  std::map<std::string, size_t> points;
  for (size_t i = 0; i < plan.points.size(); ++i) points[plan.points[i].id] = i;
  std::map<plan::TrialKind, std::string> settings;
  for (const plan::KindDesign& design : plan.design.kinds)
    settings[design.kind] = store::settingsText(plan, design.kind);
  std::map<Of, std::map<In, Values>> found;
  for (size_t side = 0; side < histories.size(); ++side)
    for (const store::Trial& trial : histories[side].trials) {
      const store::TrialKey& key = *trial.key;
      const auto point = points.find(trial.place().point);
      if (!trial.place().control.empty() || point == points.end() || settings[key.kind] != key.settings) continue;
      const auto session = histories[side].sessions.find(trial.session);
      const std::string host = session == histories[side].sessions.end() ? "" : session->second.where.machine();
      for (size_t i = 0; i < plan.metrics.size(); ++i) {
        if (plan.metrics[i].kind != key.kind || (!metric.empty() && plan.metrics[i].name != metric)) continue;
        auto& stays = found[{i, point->second, key.environment_class}];  // also of a course without any value
        const Stay stay{trial.started, side, trial.session, host, key.worker_build, key.data};
        add(stays.try_emplace({side, trial.session, key.worker_build, key.data}, Values{stay}).first->second, trial,
            trial.status == store::TrialStatus::Valid
                ? readMetric(plan, &plan.points[point->second], trial, plan.metrics[i].name).value
                : std::nullopt);
      }
    }
  std::vector<Course> all;
  std::vector<double> p_values;
  for (auto& [of, stays] : found) {
    all.push_back(courseOf(plan, of, stays));
    if (const auto change = stats::likeliestChange(mediansOf(all.back()))) all.back().p = change->p;
    p_values.push_back(all.back().p);
  }
  const std::vector<double> levels = stats::holmLevels(p_values, 1 - kConfidence);
  for (size_t i = 0; i < all.size(); ++i) all[i].changes = stats::changePoints(mediansOf(all[i]), levels[i]);
  return all;
}

}  // namespace expc::analysis
