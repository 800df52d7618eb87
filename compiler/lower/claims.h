#pragma once

#include <optional>
#include <vector>

#include "compiler/lower/pairs.h"
#include "runtime/plan/plan.h"

namespace expc::lower {

/// What a criterion asks about: points of the grid, in order, and the tree of its quantifiers over them.
struct ClaimCells {
  std::vector<size_t> points;  // treated ones
  plan::Claim claim;           // cells are indices into `points`
};

/// `skip` marks points that this machine cannot run (empty: none); a cell that reads one is left out. Nothing after
/// reporting a `where` that has no value somewhere.
std::optional<ClaimCells> claimCells(const check::Selected& selected, const expand::Grid& grid,
                                     const check::Criterion& criterion, const Pairing* pairing,
                                     const std::vector<bool>& skip, diag::Emitter& emitter);

/// How many repetitions the outcome needs at least, by DESIGN §5: a pass of a forall and a fail of an exists want every
/// cell at alpha; a fail of a forall and a pass of an exists want one cell at Holm's first step.
unsigned repetitionsToPass(const plan::Claim& claim, double confidence, bool median);
unsigned repetitionsToFail(const plan::Claim& claim, double confidence, bool median);

}  // namespace expc::lower
