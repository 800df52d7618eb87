#pragma once

// Joins the assertions of a criterion into the tree over cells that a plan holds. The cells of each assertion come in
// as levels; the tree comes out, with the cells that it reaches, and the number of repetitions with which it can be
// decided.

#include <optional>
#include <vector>

#include "compiler/expand/space.h"

namespace expc::points {

/// A point at which an assertion judges something.
struct JoinedCell {
  unsigned assertion = 0;
  std::vector<unsigned> levels;
  /// Whether the system can run it, and whether it is expected to fit into memory (or is claimed not to).
  bool runs = true, fits = true;
  /// The published value that it is held to, for an assertion with `like`.
  std::optional<double> published = std::nullopt;
};

/// The claim of a criterion over cells. A combination of levels is asked about only if each part of an `and` or `or`
/// has a cell there: `infeasible or slow <= 1.5x` is about the points at which `slow` has a value.
class JoinedClaim {
 public:
  JoinedClaim(const check::Criterion& criterion, std::vector<JoinedCell> cells);

  /// The cells that the claim reaches, in the order in which they came; none if it asks about nothing.
  const std::vector<JoinedCell>& cells() const { return cells_; }
  /// The tree over these cells; only if there are any.
  const plan::Claim& claim() const { return claim_; }

  /// Two assertions of one `and` or `or`, of which one has a cell where the other has none.
  struct Gap {
    unsigned without = 0, with = 0;
    std::vector<unsigned> levels;
  };
  /// The first gap, if there is one. An `infeasible` has none, since it takes the points of the others.
  const std::optional<Gap>& gap() const { return gap_; }

  /// The fewest repetitions with which it can pass or fail at this confidence. What is seen, and not estimated, takes
  /// none.
  unsigned repetitionsToPass(double confidence) const { return needed(claim_, confidence, true, 1); }
  unsigned repetitionsToFail(double confidence) const { return needed(claim_, confidence, false, 1); }
  /// Whether each `at least` comes to all of its parts, or each to one.
  enum class Plain { No, All, One };
  Plain plain() const;

 private:
  using Cells = std::vector<unsigned>;  // indices into cells_
  std::optional<plan::Claim> node(const check::Claim& declared, size_t depth, unsigned quantifier, const Cells& cells);
  std::optional<plan::Claim> quantified(const check::Claim& declared, size_t depth, unsigned quantifier,
                                        const Cells& cells);
  std::optional<plan::Claim> parts(const check::Claim& declared, size_t depth, const Cells& cells);
  unsigned needed(const plan::Claim& claim, double confidence, bool passing, uint64_t among) const;

  const check::Criterion& criterion_;
  std::vector<JoinedCell> cells_;
  plan::Claim claim_;
  std::optional<Gap> gap_;
};

}  // namespace expc::points
