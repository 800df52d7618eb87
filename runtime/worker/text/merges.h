#pragma once

// Byte-pair encoding of one piece: the adjacent pair of the lowest rank is joined, the leftmost of equals, until no
// pair has a rank.

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringRef.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/worker/text/vocabulary.h"

namespace expc::text {

inline constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

/// What two neighbours become, and how early.
struct Joined {
  uint32_t rank = kNoRank;
  Token id = -1;
};

/// tokenizer.json's merges: pairs of ids. Keys are made by pairKey.
using PairMerges = llvm::DenseMap<uint64_t, Joined>;

inline uint64_t pairKey(Token left, Token right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

/// Appends the tokens of `piece`. Without `pairs`, as in tiktoken, any two neighbours join whose bytes together are a
/// token, and its id is the rank. Takes O(n log n) for a piece of n bytes.
void mergePiece(const Vocabulary& vocabulary, const PairMerges* pairs, llvm::StringRef piece, std::vector<Token>& out);

}  // namespace expc::text
