#pragma once

#include "compiler/expand/grid.h"
#include "compiler/lower/claims.h"
#include "compiler/lower/lower.h"
#include "compiler/lower/pairs.h"

namespace expc::lower {

/// Writes a selected and expanded study as a plan.
class PlanBuilder {
 public:
  PlanBuilder(const check::Program& program, const check::Selected& selected, const expand::Grid& grid,
              const Selection& selection, const SystemFacts& facts, diag::Emitter& emitter);
  std::optional<plan::Plan> build();

 private:
  void header();
  void factors();
  void points();
  void removed();
  void design();
  void outputs();
  /// Cells of comparisons and criteria, without those that read a point marked in `skip` (empty: none).
  bool claims(const std::vector<bool>& skip);
  plan::Comparison comparison(const check::Comparison& declared, const Pairing& pairing,
                              const std::vector<bool>& skip) const;
  bool criterion(const check::Criterion& declared, const Pairing* pairing, const std::vector<bool>& skip);
  plan::Cell cell(size_t point, const check::Metric& metric, const check::Comparison* comparison,
                  const Pairing* pairing) const;
  std::string domain(const check::Criterion& criterion, const ClaimCells& cells,
                     const check::Comparison* comparison) const;
  std::string digest() const;

  const check::Program& program_;
  const check::Selected& selected_;
  const check::Study& study_;
  const expand::Grid& grid_;
  const Selection& selection_;
  const SystemFacts& facts_;
  diag::Emitter& emitter_;
  PointIndex index_;
  plan::Plan plan_;
};

}  // namespace expc::lower
