#include "runtime/analysis/course.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/analysis/judgement.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"
#include "runtime/store/match.h"

namespace expc::analysis {
namespace {

/// What a course is of.
using Of = std::tuple<size_t, size_t, std::string>;  // metric and point by number, environment class
/// What a stay is of.
using In = std::tuple<int64_t, std::string, std::string>;  // session, build, data

struct Values {
  Stay stay;
  std::vector<double> values;
};

const double* valueOf(const store::Trial& trial, const std::string& metric) {
  if (const auto series = trial.series.find(metric); series != trial.series.end() && !series->second.empty())
    return &series->second.back();
  const auto found = trial.metrics.find(metric);
  return found == trial.metrics.end() ? nullptr : &found->second;
}

void add(Values& to, const store::Trial& trial, double value, const store::History& history) {
  const auto session = history.sessions.find(trial.session);
  if (to.values.empty())
    to.stay = {trial.started,
               trial.session,
               session == history.sessions.end() ? "" : session->second.where.machine(),
               trial.key->worker_build,
               trial.key->data,
               0,
               0};
  to.stay.started = std::min(to.stay.started, trial.started);
  to.values.push_back(value);
}

Course courseOf(const plan::Plan& plan, const Of& of, std::map<In, Values>& stays) {
  const plan::Metric& metric = plan.metrics[std::get<0>(of)];
  Course course{metric.name,
                plan.label(plan.points[std::get<1>(of)]),
                metric.unit,
                metric.dimension,
                metric.better == plan::Direction::Lower,
                std::get<2>(of),
                {},
                1,
                {},
                {}};
  for (auto& [in, values] : stays) {
    const auto median = stats::orderStatistics(values.values).estimate();
    if (!median) continue;
    values.stay.n = static_cast<unsigned>(values.values.size());
    values.stay.median = *median;
    course.stays.push_back(std::move(values.stay));
  }
  std::sort(course.stays.begin(), course.stays.end(), [](const Stay& a, const Stay& b) {
    return std::tie(a.started, a.session) < std::tie(b.started, b.session);
  });
  return course;
}

std::vector<double> mediansOf(const Course& course) {
  std::vector<double> medians;
  for (const Stay& stay : course.stays) medians.push_back(stay.median);
  return medians;
}

}  // namespace

std::vector<Course> courses(const plan::Plan& plan, const store::History& history, const std::string& metric) {
  std::map<std::string, size_t> points;
  for (size_t i = 0; i < plan.points.size(); ++i) points[plan.points[i].id] = i;
  std::map<plan::TrialKind, std::string> settings;
  for (const plan::KindDesign& design : plan.design.kinds)
    settings[design.kind] = store::settingsText(plan, design.kind);
  std::map<Of, std::map<In, Values>> found;
  std::map<Of, std::map<In, Lost>> lost;
  for (const store::Trial& trial : history.trials) {
    const auto point = points.find(trial.place().point);
    if (!trial.place().control.empty() || point == points.end() || settings[trial.key->kind] != trial.key->settings)
      continue;
    for (size_t i = 0; i < plan.metrics.size(); ++i) {
      if (plan.metrics[i].kind != trial.key->kind || (!metric.empty() && plan.metrics[i].name != metric)) continue;
      const Of of{i, point->second, trial.key->environment_class};
      const In in{trial.session, trial.key->worker_build, trial.key->data};
      const double* value = trial.status == store::TrialStatus::Valid ? valueOf(trial, plan.metrics[i].name) : nullptr;
      auto& stays = found[of];  // also of a course without any value
      if (value)
        add(stays[in], trial, *value, history);
      else if (trial.status == store::TrialStatus::Failed || trial.status == store::TrialStatus::Infeasible)
        lost[of].try_emplace(in, Lost{trial.started, trial.session, trial.reason});
    }
  }
  std::vector<Course> all;
  std::vector<double> p_values;
  for (auto& [of, stays] : found) {
    for (const auto& [in, values] : stays) lost[of].erase(in);
    all.push_back(courseOf(plan, of, stays));
    for (auto& [in, one] : lost[of])
      if (all.back().stays.empty() || one.started > all.back().stays.back().started)
        all.back().lost.push_back(std::move(one));
    std::ranges::sort(all.back().lost, {}, &Lost::started);
    if (const auto change = stats::likeliestChange(mediansOf(all.back()))) all.back().p = change->p;
    p_values.push_back(all.back().p);
  }
  const std::vector<double> levels = stats::holmLevels(p_values, 1 - kConfidence);
  for (size_t i = 0; i < all.size(); ++i) all[i].changes = stats::changePoints(mediansOf(all[i]), levels[i]);
  return all;
}

}  // namespace expc::analysis
