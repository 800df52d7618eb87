#pragma once

// Chooses the cells that explain a verdict: those by which a claim holds or fails, and of several the one that is
// closest to its bound, or farthest beyond it. Words about them are left to why.cpp. Cells are addressed by their index
// in the results.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "runtime/judge/results.h"
#include "runtime/plan/evaluate.h"

namespace expc::report {

class CellChoice {
 public:
  CellChoice(const Plan& plan, const Criterion& criterion, std::span<const CellEstimate> cells)
      : plan_(plan), criterion_(criterion), cells_(cells) {}

  /// Whether every part of the claim must hold; an exists needs one.
  bool forall() const { return criterion_.claim.kind != plan::Claim::Kind::Exists; }

  /// The planned cell behind a result, and its bound.
  const plan::Cell& planned(size_t index) const { return criterion_.cells[cells_[index].cell]; }
  const plan::Bound& bound(size_t index) const { return boundOf(criterion_, planned(index)); }

  /// Counts the values of a cell that break its bound.
  size_t brokenOf(size_t index) const;
  /// Returns the cells of the part by which an exists holds most surely; none if it does not hold.
  std::vector<size_t> surestPart() const;
  /// Returns the indices of cells with a verdict.
  std::vector<size_t> with(Verdict verdict) const;

  /// Returns how far a cell is from breaking its bound, at its worse end; negative if it breaks it.
  double marginOf(size_t index) const;
  /// Names the cell with the least margin: by the end of its interval, or by its value if it has none.
  std::string_view extremeOf(size_t index, bool breaks = false) const;
  /// Returns the cell with the least margin; `among` must not be empty.
  size_t worst(const std::vector<size_t>& among) const;
  /// Returns the cell with the value that is farthest from holding, and that value.
  std::pair<size_t, double> worstValue(const std::vector<size_t>& among) const;
  /// Returns the cell with the largest margin; `among` must not be empty.
  size_t best(const std::vector<size_t>& among) const;

  /// Returns all cells of a claim.
  std::vector<size_t> cellsOf(const plan::Claim& claim) const;
  /// Returns the cells by which a part of the claim holds; none if it does not hold.
  std::vector<size_t> holding(const plan::Claim& part) const;
  /// Returns the cells by which a part of the claim fails; none if it does not fail.
  std::vector<size_t> failing(const plan::Claim& part) const;

 protected:
  const Plan& plan_;
  const Criterion& criterion_;
  std::span<const CellEstimate> cells_;
};

}  // namespace expc::report
