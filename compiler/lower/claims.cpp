#include "compiler/lower/claims.h"

#include <algorithm>
#include <map>

#include "runtime/stats/design.h"

namespace expc::lower {
namespace {

/// Groups cells by the levels of one quantifier's factors, in order of appearance, and descends.
plan::Claim build(const check::Criterion& criterion, const expand::Grid& grid, const std::vector<size_t>& points,
                  const std::vector<unsigned>& cells, size_t depth) {
  plan::Claim claim;
  if (depth == criterion.quantifiers.size()) {
    claim.kind = plan::Claim::Kind::Cell;
    claim.cell = cells.front();
    return claim;
  }
  const check::Quantifier& quantifier = criterion.quantifiers[depth];
  claim.kind = quantifier.kind == ast::QuantifierKind::ForAll ? plan::Claim::Kind::ForAll : plan::Claim::Kind::Exists;
  std::map<std::vector<unsigned>, std::vector<unsigned>> groups;
  for (unsigned cell : cells) {
    std::vector<unsigned> key;
    for (unsigned factor : quantifier.factors) key.push_back(grid.point(points[cell])[factor]);
    groups[std::move(key)].push_back(cell);
  }
  for (const auto& [key, members] : groups)
    claim.children.push_back(build(criterion, grid, points, members, depth + 1));
  return claim;
}

/// `certain` is the quantifier whose claim needs all its cells at alpha.
unsigned needed(const plan::Claim& claim, double confidence, bool median, plan::Claim::Kind certain, unsigned cells) {
  if (claim.kind == plan::Claim::Kind::Cell)
    return median ? stats::minimumForMedian(confidence, cells) : stats::minimumPairs(confidence, cells);
  bool all = claim.kind == certain;
  unsigned inside = all ? cells : cells * static_cast<unsigned>(claim.children.size());
  unsigned result = 0;
  for (const plan::Claim& child : claim.children) {
    unsigned n = needed(child, confidence, median, certain, inside);
    result = result == 0 ? n : all ? std::max(result, n) : std::min(result, n);
  }
  return result;
}

}  // namespace

std::optional<ClaimCells> claimCells(const check::Selected& selected, const expand::Grid& grid,
                                     const check::Criterion& criterion, const Pairing* pairing,
                                     const std::vector<bool>& skip, diag::Emitter& emitter) {
  ClaimCells result;
  expand::Assignment at(selected);
  bool filtered = std::any_of(criterion.quantifiers.begin(), criterion.quantifiers.end(),
                              [](const check::Quantifier& quantifier) { return quantifier.where != nullptr; });
  for (size_t i = 0; i < grid.size(); ++i) {
    auto point = grid.point(i);
    if (pairing && pairing->partner[i] < 0) continue;
    if (!skip.empty() && (skip[i] || (pairing && skip[pairing->partner[i]]))) continue;
    bool wanted = std::all_of(criterion.pins.begin(), criterion.pins.end(),
                              [&](const check::Pin& pin) { return point[pin.factor] == pin.level; });
    if (!wanted) continue;
    if (filtered) {
      at.set(point);
      if (!at.settle(nullptr, emitter)) return std::nullopt;
    }
    for (const check::Quantifier& quantifier : criterion.quantifiers) {
      if (!quantifier.where || !wanted) continue;
      check::Outcome outcome = check::evaluate(*quantifier.where, at.environment());
      if (const check::Failure* failure = std::get_if<check::Failure>(&outcome)) {
        expand::reportAt(*failure, selected, at, emitter);
        return std::nullopt;
      }
      wanted = std::get<check::Value>(outcome).asBool();
    }
    if (wanted) result.points.push_back(i);
  }
  std::vector<unsigned> cells(result.points.size());
  for (unsigned i = 0; i < cells.size(); ++i) cells[i] = i;
  if (!cells.empty()) result.claim = build(criterion, grid, result.points, cells, 0);
  return result;
}

unsigned repetitionsToPass(const plan::Claim& claim, double confidence, bool median) {
  return needed(claim, confidence, median, plan::Claim::Kind::ForAll, 1);
}

unsigned repetitionsToFail(const plan::Claim& claim, double confidence, bool median) {
  return needed(claim, confidence, median, plan::Claim::Kind::Exists, 1);
}

}  // namespace expc::lower
