#pragma once

#include <vector>

#include "compiler/format/pieces.h"

namespace expc::format {

/// What the layout asks again and again about runs of pieces, answered from sums made once.
class Measure {
 public:
  explicit Measure(const File& file);

  /// Characters that pieces [begin, end) take on one line.
  unsigned width(uint32_t begin, uint32_t end) const;
  /// Whether they may stand on one line: no comment between them, no bracket that must stay open.
  bool mayBeFlat(uint32_t begin, uint32_t end) const;
  /// A bracket (no block's) that must have its content on lines of its own: so the author wrote it, a comment is in
  /// it, or such a bracket.
  bool staysOpen(uint32_t bracket) const;

 private:
  bool hasComment(uint32_t begin, uint32_t end) const { return comments_[end - 1] != comments_[begin]; }

  std::vector<unsigned> start_;     // of each piece, were the whole file one line
  std::vector<unsigned> stop_;      // and where it ends
  std::vector<unsigned> comments_;  // places with comments up to each piece
  std::vector<unsigned> open_;      // brackets that stay open, from each piece on
};

}  // namespace expc::format
