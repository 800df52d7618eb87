#pragma once

#include "compiler/lower/lower.h"

namespace expc::lower {

/// Writes a prepared study as a plan.
class PlanBuilder {
 public:
  explicit PlanBuilder(Prepared& prepared);
  plan::Plan build();

 private:
  void points();
  void references();
  void controls();
  /// Cells of comparisons and criteria, without those that read a point that the system cannot run.
  void comparison(size_t index);
  std::optional<double> ideal(const check::Comparison& comparison, expand::Levels point);
  void criterion(size_t index);

  std::string id(expand::Levels point) { return std::string(prepared_.writer().id(point)); }
  expand::Levels point(size_t index) const { return {levels_.data() + index * space_.width(), space_.width()}; }
  plan::Cell cell(const check::Comparison* comparison, const check::Metric& metric, expand::Levels point);

  Prepared& prepared_;
  const expand::Space& space_;
  const check::Study& study_;
  Pairs pairs_;
  std::vector<unsigned> levels_;  // of all points, in order
  plan::Plan plan_;
};

}  // namespace expc::lower
