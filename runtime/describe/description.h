#pragma once

// Describes a study's results beside its verdicts. Nothing here judges, and no value is dropped.

#include <string>
#include <vector>

#include "runtime/describe/curves.h"
#include "runtime/describe/drift.h"
#include "runtime/describe/effects.h"
#include "runtime/describe/front.h"
#include "runtime/describe/outliers.h"
#include "runtime/describe/ranking.h"
#include "runtime/judge/index.h"
#include "runtime/judge/results.h"
#include "runtime/plan/plan.h"
#include "runtime/store/records.h"

namespace expc::describe {

/// The metrics that the study's comparisons, criteria, tables and plots are about, in the order of the plan's metrics:
/// of what else was measured a description would only be long.
std::vector<std::string> mentionedMetrics(const Plan& plan);

struct Description {
  std::vector<Effects> effects;   // of metrics over grids of two factors and more: of one, comparisons say it
  std::vector<Ranking> rankings;  // of three points and more, where blocks tell some apart
  std::vector<Front>
      fronts;  // of the first metric with each other one, where some points are beaten and several are not
  std::vector<Front> plotted;  // of each plot of one metric over another: over, then subject
  std::vector<Curve> curves;   // of the series that plots draw over their places
  std::vector<Drift> drifts;   // with a warm-up or a trend
  std::vector<Outlier> outliers;
};

/// Describes the metrics that the study is about.
Description describe(const judge::Index& index);

/// The verdicts on a study, and the description of the same results.
struct Conclusions : Judgement {
  Description description;
};
/// The arguments are those of judge::judge.
Conclusions conclude(const judge::Index& index, const judge::Index* with_earlier = nullptr);
Conclusions conclude(const Plan& plan, const Results& results);

/// A plan with its results and what they say: what reports and exports are made from.
struct Findings {
  const Plan& plan;
  const Conclusions& judgement;
  const Results& results;
};

}  // namespace expc::describe

namespace expc {
using describe::Conclusions, describe::Findings;
}
