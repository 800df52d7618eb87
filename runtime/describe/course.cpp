#include "runtime/describe/course.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "runtime/judge/readings.h"
#include "runtime/judge/results.h"
#include "runtime/judge/rows.h"
#include "runtime/stats/estimators.h"
#include "runtime/stats/procedures.h"
#include "runtime/store/match.h"

namespace expc::describe {
namespace {

/// Key of a course.
using Of = std::tuple<size_t, size_t, std::string>;  // metric and point by number, environment class
/// Key of a stay.
using In = std::tuple<size_t, int64_t, std::string, std::string>;  // history, session, build, data

/// The trials of a stay.
struct Trials {
  Stay stay;
  std::vector<double> values = {};                // of valid ones
  std::set<int64_t> valid = {};                   // blocks of valid ones, with a value or without
  std::map<int64_t, const Trial*> timeouts = {};  // by block: that which was given most
  const Trial* lost = nullptr;                    // one that failed; without any, that was disturbed
};

/// All that a course is made of.
struct Found {
  std::map<In, Trials> stays = {};
  bool measured = false, absent = false;  // some valid trial has a value, or has none
  double longest = 0;                     // seconds, of a valid trial
};

/// Takes a trial into its stay; `reading` is what a valid one measured.
void add(Found& found, Trials& to, const Trial& trial, const judge::Reading& reading) {
  const std::optional<double>& value = reading.value;
  switch (trial.status) {
    case TrialStatus::Valid:
      to.valid.insert(trial.block);
      (value ? found.measured : found.absent) = true;
      // A trial whose end was seen late took no longer than it was allowed to.
      if (const double took = trial.limit > 0 ? std::min(trial.seconds, trial.limit) : trial.seconds;
          std::isfinite(took))
        found.longest = std::max(found.longest, took);
      if (!value) break;
      to.stay.started = to.values.empty() ? trial.started : std::min(to.stay.started, trial.started);
      to.values.push_back(*value);
      to.stay.diverged += reading.worst.diverged;
      break;
    case TrialStatus::Timeout:
      if (const Trial*& most = to.timeouts[trial.block]; !most || judge::limitMet(*most) < judge::limitMet(trial))
        most = &trial;
      break;
    case TrialStatus::Failed:
    case TrialStatus::Infeasible:
      if (!to.lost || to.lost->status == TrialStatus::Invalid) to.lost = &trial;
      break;
    case TrialStatus::Invalid:
      if (!to.lost) to.lost = &trial;
      break;
    default:
      break;
  }
}

/// Makes those of a stay's timeouts that count its worst values; of the others one is what was lost.
void addTimeouts(const Metric& metric, const Found& found, Trials& to) {
  if (found.absent && !found.measured) return;  // this device cannot give the metric
  const double worst = metric.better == plan::Direction::Higher ? -INFINITY : INFINITY;
  for (const auto& [block, trial] : to.timeouts) {
    if (to.valid.contains(block)) continue;  // it was tried again
    if (!metric.better || judge::limitMet(*trial) < found.longest) {
      if (!to.lost || to.lost->status == TrialStatus::Invalid) to.lost = trial;
      continue;
    }
    to.stay.started = to.values.empty() ? trial->started : std::min(to.stay.started, trial->started);
    to.values.push_back(worst);
    ++to.stay.timeouts;
  }
}

Course courseOf(const Plan& plan, const Of& of, Found& found) {
  const auto& [number, point, environment_class] = of;
  const Metric& metric = plan.metrics[number];
  Course course{metric.name,      plan.label(plan.points[point]), metric.unit, metric.dimension, metric.better,
                environment_class};
  for (auto& [in, one] : found.stays) {
    addTimeouts(metric, found, one);
    const auto median = stats::medianOf(one.values);
    one.stay.n = one.values.size();
    one.stay.median = median.value_or(0);
    if (median) {
      course.stays.push_back(std::move(one.stay));
    } else if (one.valid.empty() && one.lost) {
      one.stay.started = one.lost->started;
      one.stay.reason = one.lost->reason;
      one.stay.disturbed = one.lost->status == TrialStatus::Invalid;
      course.lost.push_back(std::move(one.stay));
    }
  }
  const auto when = [](const Stay& stay) { return std::tuple(stay.started, stay.side, stay.session); };
  std::ranges::sort(course.stays, {}, when);
  std::ranges::sort(course.lost, {}, when);
  if (!course.stays.empty())
    course.gaps =
        std::erase_if(course.lost, [&](const Stay& one) { return one.started <= course.stays.back().started; });
  return course;
}

std::vector<double> mediansOf(const Course& course) {
  std::vector<double> medians;
  for (const Stay& stay : course.stays) medians.push_back(stay.median);
  return medians;
}

double levelOf(std::span<const double> values) { return stats::medianOf(values).value_or(0); }

/// Steps, and drifts where there are none.
void findChanges(std::vector<Course>& all) {
  std::vector<double> steps, drifts;
  std::vector<std::optional<stats::Tendency>> found;
  for (Course& course : all) {
    found.push_back(stats::tendencyOf(mediansOf(course)));
    course.p = found.back() ? found.back()->step.p : 1;
    steps.push_back(course.p);
    drifts.push_back(found.back() ? found.back()->drift_p : 1);
  }
  const std::vector<double> of_step = stats::holmLevels(steps, 1 - judge::kConfidence),
                            of_drift = stats::holmLevels(drifts, 1 - judge::kConfidence);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<double> medians = mediansOf(all[i]);
    all[i].changes = stats::changePoints(medians, of_step[i]);
    const bool stepped = stats::significant(steps[i], of_step[i]), drifted = stats::significant(drifts[i], of_drift[i]);
    if (!all[i].changes.empty() || !(stepped || drifted)) continue;
    const std::span<const double> whole(medians);
    const size_t third = whole.size() / 3;
    all[i].drift = {drifted ? drifts[i] : steps[i], levelOf(whole.first(third)), levelOf(whole.last(third)),
                    found[i]->over_drift > -stats::kStepsCost};
  }
}

/// Finds newest sessions that are outlying among the stays since the last change.
void findOutlying(std::vector<Course>& all) {
  std::vector<double> p_values;
  std::vector<std::optional<stats::Outlying>> found;
  const auto since = [](const Course& course) {
    std::vector<double> medians = mediansOf(course);
    if (!course.changes.empty()) medians.erase(medians.begin(), medians.begin() + course.changes.back().at);
    return medians;
  };
  for (const Course& course : all) {
    found.push_back(stats::newestOutlying(since(course)));
    p_values.push_back(found.back() ? found.back()->p : 1);
  }
  const std::vector<double> levels = stats::holmLevels(p_values, 1 - judge::kConfidence);
  for (size_t i = 0; i < all.size(); ++i) {
    if (!found[i] || !stats::significant(p_values[i], levels[i])) continue;
    const std::vector<double> medians = since(all[i]);
    const double usual = levelOf(std::span(medians).first(medians.size() - found[i]->count));
    all[i].outlying = {found[i]->count, usual, std::nullopt};
    if (all[i].better) all[i].outlying->worse = (*all[i].better == plan::Direction::Lower) == (medians.back() > usual);
  }
}

}  // namespace

std::vector<Course> courses(const Plan& plan, std::span<const store::History> histories, const std::string& metric) {
  std::map<std::string, size_t> points;
  for (size_t i = 0; i < plan.points.size(); ++i) points[plan.points[i].id] = i;
  std::map<TrialKind, std::string> settings;
  for (const KindDesign& design : plan.design.kinds) settings[design.kind] = store::settingsText(plan, design.kind);
  std::map<Of, Found> all_found;
  for (size_t side = 0; side < histories.size(); ++side)
    for (const Trial& whole : histories[side].trials)
      judge::forEachPoint(plan, whole, [&](const Point* measured, const Trial& trial) {
        const store::TrialKey& key = *trial.key;
        const auto point = measured ? points.find(measured->id) : points.end();
        if (!trial.place().control.empty() || point == points.end() || settings[key.kind] != key.settings) return;
        const auto session = histories[side].sessions.find(trial.session);
        const std::string host = session == histories[side].sessions.end() ? "" : session->second.where.machine();
        for (size_t i = 0; i < plan.metrics.size(); ++i) {
          if (plan.metrics[i].kind != key.kind || (!metric.empty() && plan.metrics[i].name != metric)) continue;
          if (!plan.tells(plan.metrics[i], *measured)) continue;
          Found& found = all_found[{i, point->second, key.environment_class}];  // also of a course without any value
          const Stay stay{trial.started, side, trial.session, host, key.worker_build, key.data};
          add(found,
              found.stays.try_emplace({side, trial.session, key.worker_build, key.data}, Trials{stay}).first->second,
              trial,
              trial.status == TrialStatus::Valid
                  ? judge::readMetric(plan, &plan.points[point->second], trial, plan.metrics[i].name)
                  : judge::Reading{});
        }
      });
  std::vector<Course> all;
  for (auto& [of, found] : all_found) all.push_back(courseOf(plan, of, found));
  findChanges(all);
  findOutlying(all);
  return all;
}

}  // namespace expc::describe
