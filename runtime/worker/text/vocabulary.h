#pragma once

// The tokens of a byte-level vocabulary: bytes to ids and back.

#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/StringRef.h>
#include <llvm/Support/Error.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace expc::text {

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
    const uint64_t hash = hashOf(bytes);
    for (size_t slot = hash & mask_;; slot = (slot + 1) & mask_) {
      const Slot& entry = slots_[slot];
      if (entry.id < 0) return -1;
      if (entry.tag == static_cast<uint32_t>(hash >> 32) && text(entry.id) == bytes) return entry.id;
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
    Token id = -1;
    uint32_t tag = 0;
  };
  static uint64_t hashOf(llvm::StringRef bytes);
  bool insert(Token id);

  std::string bytes_;            // all texts, one after the other
  std::vector<uint32_t> begin_;  // of each id, and the end
  std::vector<Slot> slots_;
  uint64_t mask_ = 0;
  size_t longest_ = 0;
  std::array<Token, 256> of_byte_{};
  std::vector<Token> of_pair_ = std::vector<Token>(1 << 16, -1);  // what merging asks for most
};

inline uint64_t Vocabulary::hashOf(llvm::StringRef bytes) {
  const size_t size = bytes.size();
  const char* at = bytes.data();
  uint64_t low, high = 0;
  if (size >= 8) {
    low = loadBytes(at, 8);
    for (size_t i = 8; i + 8 < size; i += 8) low = (low ^ loadBytes(at + i, 8)) * 0x9e3779b97f4a7c15u, low ^= low >> 29;
    high = loadBytes(at + size - 8, 8);
  } else if (size >= 4) {
    low = loadBytes(at, 4) | loadBytes(at + size - 4, 4) << 32;
  } else {
    low = static_cast<unsigned char>(at[0]) | static_cast<uint64_t>(static_cast<unsigned char>(at[size / 2])) << 8 |
          static_cast<uint64_t>(static_cast<unsigned char>(at[size - 1])) << 16;
  }
  const auto product = static_cast<unsigned __int128>(low ^ 0xa0761d6478bd642fu) * (high ^ size ^ 0xe7037ed1a0b428dbu);
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

}  // namespace expc::text
