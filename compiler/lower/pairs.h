#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/expand/grid.h"

namespace expc::lower {

/// Finds points of a grid by their levels.
class PointIndex {
 public:
  explicit PointIndex(const expand::Grid& grid);
  /// Index of the point, or -1.
  int find(const std::vector<unsigned>& levels) const;

 private:
  struct Hash {
    size_t operator()(const std::vector<unsigned>& levels) const;
  };
  std::unordered_map<std::vector<unsigned>, int, Hash> index_;
};

/// Which point each point is compared with.
struct Pairing {
  static constexpr int kNone = -1;        // its partner is not in the grid
  static constexpr int kNotTreated = -2;  // it is a baseline itself
  std::vector<int> partner;               // by point
  uint64_t pairs = 0, without = 0;
  std::string why;  // of `without`: "rule 'one_card' removes it"
};
Pairing pairUp(const check::Selected& selected, const expand::Grid& grid, const PointIndex& index,
               const check::Comparison& comparison, const source::SourceManager& sources);

}  // namespace expc::lower
