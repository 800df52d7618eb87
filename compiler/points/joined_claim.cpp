#include "compiler/points/joined_claim.h"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

#include "runtime/base/entry.h"
#include "runtime/stats/design.h"

namespace expc::points {
namespace {

using Kind = plan::Claim::Kind;
using Key = std::vector<unsigned>;

/// The levels of some factors of a point.
Key keyOf(const std::vector<unsigned>& factors, const std::vector<unsigned>& levels) {
  Key key;
  for (const unsigned factor : factors) key.push_back(levels[factor]);
  return key;
}

/// Cells by their levels of the factors that a quantifier binds for them.
struct Bound {
  std::vector<unsigned> factors;
  std::map<Key, std::vector<unsigned>> cells;
};

/// The combinations of levels that a quantifier ranges over. Cells of several kinds that bind the same factors add
/// theirs; where they bind others, each combination of the one stands beside each of the other that agrees with it.
std::vector<std::vector<unsigned>> combinations(const std::vector<Bound>& all, size_t width) {
  constexpr unsigned kOpen = std::numeric_limits<unsigned>::max();
  std::vector<std::vector<unsigned>> found{std::vector<unsigned>(width, kOpen)};
  for (const Bound& bound : all) {
    const bool known = std::ranges::all_of(
        bound.factors, [&](unsigned factor) { return !found.empty() && found.front()[factor] != kOpen; });
    if (known) continue;
    std::vector<std::vector<unsigned>> wider;
    for (const auto& one : found)
      for (const auto& [key, _] : bound.cells) {
        std::vector<unsigned> levels = one;
        bool agrees = true;
        for (size_t i = 0; i < key.size(); ++i) {
          agrees = agrees && (levels[bound.factors[i]] == kOpen || levels[bound.factors[i]] == key[i]);
          levels[bound.factors[i]] = key[i];
        }
        if (agrees) wider.push_back(std::move(levels));
      }
    found = std::move(wider);
  }
  return found;
}

/// The indices of cells that a claim reaches.
void reach(const plan::Claim& claim, std::vector<bool>& reached) {
  if (claim.kind == Kind::Cell) reached[claim.cell] = true;
  for (const plan::Claim& child : claim.children) reach(child, reached);
}

void renumber(plan::Claim& claim, const std::vector<unsigned>& numbers) {
  if (claim.kind == Kind::Cell) claim.cell = numbers[claim.cell];
  for (plan::Claim& child : claim.children) renumber(child, numbers);
}

}  // namespace

JoinedClaim::JoinedClaim(const check::Criterion& criterion, std::vector<JoinedCell> cells)
    : criterion_(criterion), cells_(std::move(cells)) {
  Cells all(cells_.size());
  std::iota(all.begin(), all.end(), 0u);
  std::vector<bool> reached(cells_.size());
  if (auto claim = node(criterion.claim, 0, 0, all)) {
    claim_ = std::move(*claim);
    reach(claim_, reached);
  }
  std::vector<unsigned> numbers(cells_.size());
  std::vector<JoinedCell> kept;
  for (size_t i = 0; i < cells_.size(); ++i) {
    numbers[i] = unsigned(kept.size());
    if (reached[i]) kept.push_back(std::move(cells_[i]));
  }
  cells_ = std::move(kept);
  renumber(claim_, numbers);
}

/// `depth` is the number of quantifiers in front of the node, `quantifier` the next of its own. Nothing if it has no
/// cell, or a part of it has none.
std::optional<plan::Claim> JoinedClaim::node(const check::Claim& declared, size_t depth, unsigned quantifier,
                                             const Cells& cells) {
  if (cells.empty()) return std::nullopt;
  if (quantifier < declared.quantifiers) return quantified(declared, depth, quantifier, cells);
  if (declared.kind != check::Claim::Kind::Assertion) return parts(declared, depth, cells);
  plan::Claim claim;
  claim.kind = Kind::Cell;
  // Quantifiers, selectors and rules together leave one level of every factor, so there is one cell.
  claim.cell = cells.front();
  return claim;
}

std::optional<plan::Claim> JoinedClaim::quantified(const check::Claim& declared, size_t depth, unsigned quantifier,
                                                   const Cells& cells) {
  // Assertions that bind the same factors share a list of combinations; those that bind the most come first.
  std::map<std::vector<unsigned>, Bound> by_factors;
  for (const unsigned cell : cells) {
    std::vector<unsigned> factors = criterion_.assertions[cells_[cell].assertion].quantifiers[depth].factors;
    Bound& bound = by_factors[factors];
    bound.cells[keyOf(factors, cells_[cell].levels)].push_back(cell);
    bound.factors = std::move(factors);
  }
  std::vector<Bound> all;
  for (auto& [_, bound] : by_factors) all.push_back(std::move(bound));
  std::ranges::stable_sort(all, std::greater(), [](const Bound& bound) { return bound.factors.size(); });
  plan::Claim claim;
  for (const auto& levels : combinations(all, cells_[cells.front()].levels.size())) {
    Cells own;
    for (const Bound& bound : all)
      if (const auto* at = entryOf(bound.cells, keyOf(bound.factors, levels)))
        own.insert(own.end(), at->begin(), at->end());
    if (auto child = node(declared, depth + 1, quantifier + 1, own)) claim.children.push_back(std::move(*child));
  }
  if (claim.children.empty()) return std::nullopt;
  const check::Quantifier& of = criterion_.assertions[declared.first].quantifiers[depth];
  // Fewer combinations than must hold: a selection left the others out, and a weaker claim is not the study's.
  if (of.kind == ast::QuantifierKind::AtLeast && !of.share && of.least.toDouble() > double(claim.children.size()))
    return std::nullopt;
  using enum ast::QuantifierKind;
  claim.kind = of.kind == ForAll ? Kind::ForAll : of.kind == Exists ? Kind::Exists : Kind::AtLeast;
  if (of.kind == AtLeast) claim.least = of.leastOf(claim.children.size());
  return claim;
}

std::optional<plan::Claim> JoinedClaim::parts(const check::Claim& declared, size_t depth, const Cells& cells) {
  plan::Claim claim;
  claim.kind = declared.kind == check::Claim::Kind::All ? Kind::ForAll : Kind::Exists;
  // The first assertion with a subject of a part that has cells here, and of one that has none.
  std::optional<unsigned> with, without;
  // Parts have assertions in the order of the text, so that each cell finds its part at once.
  std::vector<Cells> own(declared.parts.size());
  for (const unsigned cell : cells)
    own[std::ranges::upper_bound(declared.parts, cells_[cell].assertion, {}, &check::Claim::first) -
        declared.parts.begin() - 1]
        .push_back(cell);
  for (size_t i = 0; i < own.size(); ++i) {
    const check::Claim& part = declared.parts[i];
    auto child = node(part, depth, 0, own[i]);
    for (unsigned a = part.first; a < part.end; ++a)
      if (!criterion_.assertions[a].infeasible && !(child ? with : without)) (child ? with : without) = a;
    if (child) claim.children.push_back(std::move(*child));
  }
  if (claim.children.size() == declared.parts.size()) return claim;
  if (with && without && !gap_) gap_ = Gap{*without, *with, cells_[cells.front()].levels};
  return std::nullopt;
}

/// `among` is the number of cells among which Holm's first step divides alpha.
unsigned JoinedClaim::needed(const plan::Claim& claim, double confidence, bool passing, uint64_t among) const {
  if (claim.kind == Kind::Cell) {
    if (cells_.empty() || criterion_.assertions[cells_[claim.cell].assertion].seen()) return 0;
    return stats::minimumPairs(confidence, unsigned(std::min<uint64_t>(among, std::numeric_limits<unsigned>::max())));
  }
  // Children that take no repetition are seen: where all are needed they hold, and else they are not counted on.
  std::vector<const plan::Claim*> estimated;
  for (const plan::Claim& child : claim.children)
    if (needed(child, confidence, passing, 1) > 0) estimated.push_back(&child);
  if (estimated.empty()) return 0;
  const size_t n = claim.children.size(), all = passing ? claim.needed() : n - claim.needed() + 1;
  const size_t least = std::clamp<size_t>(all - (all == n ? n - estimated.size() : 0), 1, estimated.size());
  std::vector<unsigned> each;
  for (const plan::Claim* child : estimated)
    each.push_back(needed(*child, confidence, passing, among * (estimated.size() - least + 1)));
  std::ranges::nth_element(each, each.begin() + ptrdiff_t(least - 1));
  return each[least - 1];
}

JoinedClaim::Plain JoinedClaim::plain() const {
  bool any = false, all = true, one = true;
  const auto look = [&](const auto& self, const plan::Claim& claim) -> void {
    if (claim.kind == Kind::AtLeast) {
      any = true;
      all = all && claim.least == claim.children.size();
      one = one && claim.least == 1;
    }
    for (const plan::Claim& child : claim.children) self(self, child);
  };
  look(look, claim_);
  return !any ? Plain::No : all ? Plain::All : one ? Plain::One : Plain::No;
}

}  // namespace expc::points
