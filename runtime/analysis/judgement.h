#pragma once

// What a plan's results say: summaries, estimates, verdicts. Pure functions of (plan, records); the report only prints these.

#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.h"
#include "runtime/stats/interval.h"
#include "runtime/store/records.h"

namespace expc::analysis {

enum class Verdict { Pass, Fail, Inconclusive, Infeasible, NotRun, NotAsked };
std::string_view toString(Verdict verdict);

/// A metric at a point.
struct Summary {
  std::string point, metric;
  unsigned n = 0;
  bool constant = false;  // an exact metric that never varied
  double median = 0, minimum = 0, maximum = 0;
  std::optional<stats::Interval> interval;  // absent: too few values for the confidence (95 %)
  std::vector<double> values;               // by block order, for dots in charts
  std::vector<unsigned> outliers;           // indices into values (Tukey); flagged, never dropped
};

/// Pairs that a cell's estimate rests on.
struct Scope {
  unsigned planned = 0, complete = 0, lost = 0;
  unsigned sessions = 0, nodes = 0;
};

struct CellEstimate {
  unsigned cell = 0;  // index in its comparison or criterion
  std::optional<double> estimate;
  std::optional<stats::Interval> interval;
  Scope scope;
  std::vector<double> values;  // by block
  Verdict verdict = Verdict::NotRun;  // of the cell alone, for criteria
  std::string why;                    // when not pass: "needs 6 pairs, has 4"
};

struct ComparisonResult {
  std::string name;
  std::vector<CellEstimate> cells;
};

struct CriterionResult {
  std::string name;
  Verdict verdict = Verdict::NotRun;
  std::string why;               // one line that makes sense alone
  std::string domain;
  Scope scope;                   // the smallest over the cells; sessions and nodes the largest
  std::vector<CellEstimate> cells;
};

struct PointStatus {
  std::string point;
  plan::TrialKind kind = plan::TrialKind::Timed;
  unsigned planned = 0, valid = 0, failed = 0, timeouts = 0, infeasible = 0;
  std::string last_reason;
};

struct Judgement {
  std::vector<PointStatus> points;
  std::vector<Summary> summaries;
  std::vector<ComparisonResult> comparisons;
  std::vector<CriterionResult> criteria;
  const Summary* find(std::string_view point, std::string_view metric) const;
};

Judgement judge(const plan::Plan& plan, const store::Results& results);

/// DESIGN §5: 0 all pass, 3 some fail (infeasible counts as fail), 4 some undecided, 5 nothing ran.
int exitCode(const Judgement& judgement);

}  // namespace expc::analysis
