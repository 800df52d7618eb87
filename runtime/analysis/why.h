#pragma once

// The line that explains a verdict: what users read first. It stands alone, with numbers and units.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/analysis/cells.h"
#include "runtime/analysis/claims.h"
#include "runtime/analysis/judgement.h"

namespace expc::analysis {

/// Explains one criterion from its measured cells, whose verdicts are set. `levels`: those at which cells are decided,
/// where intervals at them are those of one look; else empty. Keeps references to plan, criterion and cells.
class Explainer {
 public:
  Explainer(const plan::Plan& plan, const plan::Criterion& criterion, const std::vector<MeasuredCell>& cells,
            std::vector<Levels> levels)
      : plan_(plan), criterion_(criterion), cells_(cells), levels_(std::move(levels)) {}

  /// "" for a cell that passes, else e.g. "1.18x [1.10x, 1.25x] does not decide >= 1.2x".
  std::string cell(size_t index) const;
  /// The interval of a cell that its own would decide if it were the only one, corrected for the others, where that
  /// leaves it open; nothing for other cells.
  std::optional<stats::Interval> corrected(size_t index) const;
  /// "all 4 cells: smallest 1.52x [1.48x, 1.57x] >= 1.2x".
  std::string criterion(Verdict verdict) const;

 private:
  std::string passes() const;
  /// Of an exists: which of its parts hold.
  std::string somePass() const;
  std::string fails() const;
  std::string undecided() const;
  /// Of these cells, all of which pass.
  std::string everyTrialPasses(const std::vector<size_t>& passing) const;
  std::string trialsFail() const;

  /// Of a cell whose interval would decide it if it were the only one.
  std::string notAfterCorrection(size_t index) const;
  /// At the level that the others leave it; nothing where there are too few values.
  std::optional<stats::Interval> atItsLevel(size_t index) const;

  bool forall() const { return criterion_.claim.kind != plan::Claim::Kind::Exists; }
  /// Indices of the cells with this verdict.
  std::vector<size_t> with(Verdict verdict) const;
  /// Of these cells the one with the least (or most) margin to the bound; they are not empty.
  size_t worst(const std::vector<size_t>& among) const;
  size_t best(const std::vector<size_t>& among) const;
  double marginOf(size_t index) const;
  /// "1.52x [1.48x, 1.57x]", "7.00 GiB (constant)".
  std::string shown(size_t index) const;
  std::string value(size_t index, double number) const;
  /// "precision=fp32 gpus=2", or "" where there is one cell without labels.
  std::string label(size_t index) const;
  std::vector<size_t> cellsOf(const plan::Claim& claim) const;
  /// The cells by which a part of an exists holds; none where it does not.
  std::vector<size_t> decisive(const plan::Claim& part) const;
  /// What tells these cells from the others: "level=19" of all its threads.
  std::string commonLabel(const std::vector<size_t>& cells) const;
  /// "precision=fp32: " or "".
  std::string prefix(size_t index) const;
  const plan::Bound& bound(size_t index) const;
  /// Whether the cells have bounds of their own: agreement with a reference.
  bool ownBounds() const;
  /// What all cells are asked for, and what it is not to do so: ">= 1.2x" and "below 1.2x".
  std::string holds() const;
  std::string breaks() const;
  /// "; 4 of 10 pairs so far" while the design still wants trials.
  std::string soFar() const;

  const plan::Plan& plan_;
  const plan::Criterion& criterion_;
  const std::vector<MeasuredCell>& cells_;
  std::vector<Levels> levels_;
};

}  // namespace expc::analysis
