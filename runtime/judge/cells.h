#pragma once

// Estimates one cell of a comparison or criterion: records and a term come in, the estimate with its intervals goes
// out. Verdicts over several cells are left to criteria.h.

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "runtime/judge/block_values.h"
#include "runtime/judge/index.h"
#include "runtime/judge/results.h"
#include "runtime/stats/looks.h"
#include "runtime/stats/nested_intervals.h"

namespace expc::judge {

/// Intervals at an earlier look, of the values that were there.
struct EarlierLook {
  unsigned values = 0;
  stats::NestedIntervals intervals;
  stats::LookLevels levels;
};

struct MeasuredCell {
  CellEstimate estimate;             // without a verdict
  stats::NestedIntervals intervals;  // of the estimate, at every confidence
  /// Earlier looks that still count. All looks together keep the confidence, so the estimate lies in each of their
  /// intervals.
  std::vector<EarlierLook> earlier = {};
  unsigned fewest = 0;             // values that an interval takes, where there are fewer
  double step = 0;                 // that the interval reaches at least, however many values; of ratios on logs
  bool stopped_by_width = false;   // how many values there are may have been chosen by how wide their interval was
  std::vector<int64_t> runs = {};  // of each value: the last run that a trial of it is of
  plan::Why loss = nullptr;        // what became of blocks without a value
};

/// Whether the term reads exact metrics alone.
bool isExact(const Plan& plan, const plan::Term& term);

/// The range of a metric's values, so that allowances do not carry an interval where no value can be. It ends at zero
/// if no trial of the study gave less and no claim asks about zero or less. For shares it ends at 100 % likewise. Every
/// bound lies inside it, so it changes no verdict.
struct Range {
  double low = -INFINITY, high = INFINITY;

  /// The scale on which scatter is symmetric.
  stats::Scale scale() const { return low >= 0 ? stats::Scale::Logarithmic : stats::Scale::Linear; }
  /// The intervals without what is outside of the range. Infinite ends stay: they stand for timeouts.
  stats::NestedIntervals limit(const stats::NestedIntervals& intervals) const;
};

/// Block values of the cells of one comparison (cells.cpp).
struct ComparisonValues;

/// The inputs that all cells of a judgement share.
struct Evidence {
  const Index& index;
  std::vector<bool> wanted[3];  // by TrialKind and the place's number: whether nextBlock asks for it
  /// A metric over all points, which were measured side by side.
  struct OfMetric {
    double correlation = 0;  // upper bound of that of a value with the one before (stats/serial.h); 0: no allowance
    Range range = {};
  };
  mutable std::map<std::string, OfMetric> metrics = {};       // those that were asked for
  mutable std::map<const Comparison*, double> of_pairs = {};  // the same of comparisons
  /// A comparison and the index of one of its cells, by what the cell reads.
  mutable std::map<std::string, std::pair<const Comparison*, size_t>> compared = {};
  mutable std::shared_ptr<const ComparisonValues> read = nullptr;  // of the comparison that was asked for last
  /// For a part of a store: all results that counted up to the part's last run. Their looks are looks at the part's
  /// claims too. Null for a whole store.
  const Evidence* with_earlier = nullptr;

  bool wants(TrialKind kind, const Place& place) const;
  bool wantsAny() const;
  const OfMetric& of(const std::string& metric) const;
  /// The correlation of a cell's block values, estimated over all cells of the comparison that reads the same. Where
  /// these values were read for it, also the values of the cell; they live until the next question.
  std::pair<double, const BlockValues*> correlation(const plan::Cell& cell) const;
};

/// How many repetitions a design plans, when `complete` are there: where they adapt, as many as there are within its
/// limits.
unsigned plannedOf(const KindDesign& design, unsigned complete);

/// Whether the kind's repetitions go on until intervals are narrow (`until`), which their confidence pays for.
bool repetitionsAdapt(const Plan& plan, TrialKind kind);
/// Whether they do, or did in one of the runs that measured values: a plan that says otherwise afterwards takes nothing
/// back. A run of which it is not known may have.
bool stoppedByWidth(const Index& index, TrialKind kind, const std::vector<int64_t>& runs);

/// The block values of the cell's term, each inside one block and one session, and what they say at `confidence`. A
/// timeout is worse than every value. A block in which every point of the cell was tried and that gives no value is
/// lost, as it is for nextBlock.
MeasuredCell measure(const Evidence& evidence, const plan::Cell& cell, double confidence, Arms arms = Arms::AsNamed);
/// Sets what its intervals say at the level that this look, of `levels`, leaves of `alpha`, together with those of
/// earlier looks.
void readAt(const Plan& plan, const plan::Cell& cell, double alpha, const stats::LookLevels& levels,
            MeasuredCell& measured);
/// The intervals of a measured cell as an earlier look saw them, which had its first `values` values. Nothing if that
/// look tells nothing any more: sessions that came later differ, or values keep rising or falling.
std::optional<stats::NestedIntervals> intervalsAfter(const Evidence& evidence, const plan::Cell& cell,
                                                     const MeasuredCell& measured, unsigned values);
/// The fewest values from which an interval of that confidence can be made.
unsigned fewestFor(double confidence, const MeasuredCell& measured);

/// A metric of a point, without levels.
plan::Cell cellOf(const Metric& metric, const std::string& point);

/// "precision=fp32 gpus=2" of a cell whose owner has these `factors`.
std::string cellLabel(const Plan& plan, const std::vector<std::string>& factors, const plan::Cell& cell);

}  // namespace expc::judge
