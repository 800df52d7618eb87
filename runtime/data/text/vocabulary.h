#pragma once

// The tokens of a byte-level vocabulary, from bytes to ids and back, and byte-pair encoding of one piece with them: the
// adjacent pair of the lowest rank is joined, the leftmost among equals, until no pair has a rank. This is the inner
// loop of encoding, so lookups are inline and laid out for the caches.

#include <llvm/ADT/DenseMap.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "runtime/base/failure.h"
#include "runtime/base/llvm.h"

namespace expc::text {

/// The id of a token; -1 stands for none.
using Token = int32_t;

/// Limits for a vocabulary: bytes of one token, and number of ids. No language model has more.
inline constexpr size_t kLongestToken = 64 << 10;
inline constexpr size_t kMostTokens = 4'000'000;

/// Up to 8 bytes as a number, the first byte lowest.
inline uint64_t loadBytes(const char* at, size_t count) {
  uint64_t value = 0;
  __builtin_memcpy(&value, at, count);
  return value;
}

/// A vocabulary; immutable, so several threads may use one.
class Vocabulary {
 public:
  /// Makes a vocabulary: `tokens[i]` is the text of id i, "" for an id that is not used. An error if a text occurs
  /// twice, or a byte has no token.
  static Expected<Vocabulary> make(ArrayRef<StringRef> tokens);

  /// The id of exactly these bytes, or -1. Texts of two bytes have a table of their own; longer ones pass a filter of
  /// bits before the hash table, since most questions of merging are about texts that are no token.
  Token find(StringRef bytes) const {
    if (bytes.size() > longest_ || bytes.empty()) return -1;
    if (bytes.size() == 2) return of_pair_[loadBytes(bytes.data(), 2)];
    const uint64_t key = keyOf(bytes), hash = hashOf(key, bytes.size());
    // 20 bits of the hash: 14 choose the word, 6 the bit.
    if (!(seen_[hash >> 50] >> (hash >> 44 & 63) & 1)) return -1;
    for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      const Slot& entry = slots_[slot];
      if (entry.id < 0) return -1;
      if (entry.key == key && entry.size == bytes.size() && (bytes.size() <= 8 || text(entry.id) == bytes))
        return entry.id;
    }
  }
  /// The id of a single byte.
  Token ofByte(unsigned char byte) const { return of_byte_[byte]; }
  /// The text of an id from 0 to below size(); "" for an id that is not used.
  StringRef text(Token id) const {
    const auto at = size_t(id);
    return {bytes_.data() + begin_[at], begin_[at + 1] - begin_[at]};
  }
  /// The number of ids, used or not.
  Token size() const { return Token(begin_.size()) - 1; }

 private:
  /// An entry of the hash table; open addressing with linear probing.
  struct Slot {
    uint64_t key = 0;
    Token id = -1;
    uint32_t size = 0;
  };
  /// A key that, with the length, identifies up to 8 bytes exactly; for longer texts a hash.
  static uint64_t keyOf(StringRef bytes);
  /// A mixing hash by a 128-bit product, after wyhash.
  static uint64_t hashOf(uint64_t key, size_t size) {
    const auto product = static_cast<unsigned __int128>(key ^ 0xa0761d6478bd642fu) * (0xe7037ed1a0b428dbu ^ size);
    return uint64_t(product) ^ uint64_t(product >> 64);
  }
  /// Adds an id; false if its text is there already.
  bool insert(Token id);

  std::string bytes_;            // the texts of all ids, one after the other
  std::vector<uint32_t> begin_;  // where each id's text begins, and the end of the last
  std::vector<Slot> slots_;
  /// The filter: a bit for each value of the hash's upper 20 bits. 128 KiB, which stay in the second-level cache.
  std::vector<uint64_t> seen_ = std::vector<uint64_t>(1 << 14, 0);
  uint64_t mask_ = 0;
  size_t longest_ = 0;
  std::array<Token, 256> of_byte_{};
  // The ids of texts of two bytes, which merging asks for most.
  std::vector<Token> of_pair_ = std::vector<Token>(1 << 16, -1);
};

inline uint64_t Vocabulary::keyOf(StringRef bytes) {
  const size_t size = bytes.size();
  const char* at = bytes.data();
  if (size > 8) {
    uint64_t hash = size;
    for (size_t i = 0; i + 8 < size; i += 8)
      hash = (hash ^ loadBytes(at + i, 8)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29;
    return (hash ^ loadBytes(at + size - 8, 8)) * 0x9e3779b97f4a7c15u;
  }
  // Overlapping loads cover every length without a loop.
  if (size >= 4) return loadBytes(at, 4) | loadBytes(at + size - 4, 4) << 32;
  return loadBytes(at, 1) | loadBytes(at + size / 2, 1) << 8 | loadBytes(at + size - 1, 1) << 16;
}

/// The rank of a pair that is never joined.
inline constexpr uint32_t kNoRank = std::numeric_limits<uint32_t>::max();

/// The token that two neighbours become, and its rank: lower ranks are joined earlier.
struct Joined {
  uint32_t rank = kNoRank;
  Token id = -1;
};

/// The merges of a tokenizer.json, by pairKey() of the two ids.
using PairMerges = llvm::DenseMap<uint64_t, Joined>;

/// The key of a pair in PairMerges.
inline uint64_t pairKey(Token left, Token right) { return uint64_t(uint32_t(left)) << 32 | uint32_t(right); }

/// Appends the tokens of `piece`. Without `pairs`, as in tiktoken, two neighbours join if their bytes together are a
/// token, whose id is the rank. Takes O(n log n) for n bytes.
void mergePiece(const Vocabulary& vocabulary, const PairMerges* pairs, StringRef piece, std::vector<Token>& out);

}  // namespace expc::text
