#pragma once

// The tokens of a byte-level vocabulary: bytes to ids and back; and byte-pair encoding of one piece with them: the
// adjacent pair of the lowest rank is joined, the leftmost of equals, until no pair has a rank.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/failure.h"

namespace expc::text {

using base::failure;

using Token = int32_t;

/// Bytes that one token may have, and ids that there may be: more is no vocabulary of a language model.
inline constexpr size_t kLongestToken = 64 << 10;
inline constexpr size_t kMostTokens = 4'000'000;

/// At most 8 bytes as a number, the first lowest.
inline uint64_t loadBytes(const char* at, size_t count) {
  uint64_t value = 0;
  __builtin_memcpy(&value, at, count);
  return value;
}

class Vocabulary {
 public:
  /// `tokens[i]` is the text of id i; an empty one is an id that is not used. Errors: a text twice, or a byte that no
  /// token stands for.
  static llvm::Expected<Vocabulary> make(llvm::ArrayRef<llvm::StringRef> tokens);

  /// The id of exactly these bytes, or -1.
  Token find(llvm::StringRef bytes) const {
    if (bytes.size() > longest_ || bytes.empty()) return -1;
    if (bytes.size() == 2) return of_pair_[loadBytes(bytes.data(), 2)];
    const uint64_t key = keyOf(bytes), hash = hashOf(key, bytes.size());
    if (!(seen_[hash >> 50] >> (hash >> 44 & 63) & 1)) return -1;
    for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      const Slot& entry = slots_[slot];
      if (entry.id < 0) return -1;
      if (entry.key == key && entry.size == bytes.size() && (bytes.size() <= 8 || text(entry.id) == bytes))
        return entry.id;
    }
  }
  Token ofByte(unsigned char byte) const { return of_byte_[byte]; }
  /// Empty for an id that is not used. `id` must lie in 0..size().
  llvm::StringRef text(Token id) const {
    const auto at = static_cast<size_t>(id);
    return {bytes_.data() + begin_[at], begin_[at + 1] - begin_[at]};
  }
  /// Ids are below this.
  Token size() const { return static_cast<Token>(begin_.size()) - 1; }

 private:
  struct Slot {
    uint64_t key = 0;
    Token id = -1;
    uint32_t size = 0;
  };
  /// With the length all that there is of up to 8 bytes; a hash of longer ones.
  static uint64_t keyOf(llvm::StringRef bytes);
  static uint64_t hashOf(uint64_t key, size_t size) {
    const auto product = static_cast<unsigned __int128>(key ^ 0xa0761d6478bd642fu) * (0xe7037ed1a0b428dbu ^ size);
    return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
  }
  bool insert(Token id);

  std::string bytes_;            // all texts, one after the other
  std::vector<uint32_t> begin_;  // of each id, and the end
  std::vector<Slot> slots_;
  /// A bit for each hash's upper 20: most of what merging asks for is no token, and this is small enough to stay near.
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(1 << 14, 0);
  uint64_t mask_ = 0;
  size_t longest_ = 0;
  std::array<Token, 256> of_byte_{};
  std::vector<Token> of_pair_ = std::vector<Token>(1 << 16, -1);  // what merging asks for most
};

inline uint64_t Vocabulary::keyOf(llvm::StringRef bytes) {
  const size_t size = bytes.size();
  const char* at = bytes.data();
  if (size > 8) {
    uint64_t hash = size;
    for (size_t i = 0; i + 8 < size; i += 8)
      hash = (hash ^ loadBytes(at + i, 8)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return (hash ^ loadBytes(at + size - 8, 8)) * 0x9e3779b97f4a7c15u;
  }
  if (size >= 4) return loadBytes(at, 4) | loadBytes(at + size - 4, 4) << 32;
  return loadBytes(at, 1) | loadBytes(at + size / 2, 1) << 8 | loadBytes(at + size - 1, 1) << 16;
}

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
