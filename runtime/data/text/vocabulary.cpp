// Making vocabularies, and merging. Short pieces, nearly all of them, are merged by scanning an array for the lowest
// rank, which is quadratic but has no allocation. Long ones use a linked list and a heap, so that a hostile text of one
// long word takes O(n log n).

#include "runtime/data/text/vocabulary.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <queue>

#include "runtime/base/format.h"

namespace expc::text {
namespace {

/// A token's bytes for messages: printable, and not too long.
std::string shown(StringRef bytes) {
  constexpr size_t most = 40;
  std::string result;
  for (const char c : bytes.take_front(most))
    result += llvm::isPrint(c) ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return bytes.size() > most ? result + "…" : result;
}

/// Pieces up to this many bytes are merged by scanning, which beats a heap there.
constexpr size_t kShort = 96;

/// A part of the piece, and the result of joining it with its right neighbour.
struct Part {
  uint32_t begin = 0;
  Token id = -1;
  Joined joined;
};

/// Merges by scanning. `join` gives the result of two neighbours and the bytes of both.
template <typename Join>
void mergeShort(const Vocabulary& vocabulary, const Join& join, StringRef piece, std::vector<Token>& out) {
  Part parts[kShort + 1];
  size_t count = piece.size();
  for (size_t i = 0; i < count; ++i)
    parts[i] = {uint32_t(i), vocabulary.ofByte(static_cast<unsigned char>(piece[i])), {}};
  parts[count].begin = uint32_t(count);
  const auto look = [&](size_t i) {
    return i + 1 < count ? join(parts[i].id, parts[i + 1].id, piece.slice(parts[i].begin, parts[i + 2].begin))
                         : Joined{};
  };
  for (size_t i = 0; i < count; ++i) parts[i].joined = look(i);
  while (true) {
    size_t best = 0;
    uint32_t rank = kNoRank;
    // Strictly lower: among equal ranks the leftmost is joined, as in tiktoken.
    for (size_t i = 0; i + 1 < count; ++i)
      if (parts[i].joined.rank < rank) rank = parts[best = i].joined.rank;
    if (rank == kNoRank) break;
    parts[best].id = parts[best].joined.id;
    // The right neighbour is gone; only the two pairs around the new part change.
    std::copy(parts + best + 2, parts + count + 1, parts + best + 1);
    --count;
    parts[best].joined = look(best);
    if (best > 0) parts[best - 1].joined = look(best - 1);
  }
  for (size_t i = 0; i < count; ++i) out.push_back(parts[i].id);
}

/// A part in a doubly linked list. A part that was joined to its left neighbour has the id -1.
struct Link {
  uint32_t before, after;  // indices; the piece's size stands for none
  Token id = -1;
  uint32_t rank = kNoRank;  // of the pair with `after`; an entry of the heap with another rank is out of date
  Token joined = -1;
};

/// An entry of the heap: a pair by its left part. Lower ranks come first, among equals the leftmost.
struct Candidate {
  uint32_t rank, at;
  bool operator>(const Candidate& other) const { return rank != other.rank ? rank > other.rank : at > other.at; }
};

/// Merges with a heap. Entries are never removed when their pair changes; they are skipped when they come up.
template <typename Join>
void mergeLong(const Vocabulary& vocabulary, const Join& join, StringRef piece, std::vector<Token>& out) {
  const auto size = uint32_t(piece.size());
  std::vector<Link> links(size);
  std::vector<Candidate> storage;
  storage.reserve(size);
  for (uint32_t i = 0; i < size; ++i)
    links[i] = {i ? i - 1 : size, i + 1, vocabulary.ofByte(static_cast<unsigned char>(piece[i]))};
  // Sets the rank of the pair at `at`; false if it never joins. A part is named by its first byte, so it ends where the
  // next part begins.
  const auto look = [&](uint32_t at) {
    Link& link = links[at];
    link.rank = kNoRank;
    if (link.after == size) return false;
    const Link& next = links[link.after];
    const Joined found = join(link.id, next.id, piece.slice(at, next.after));
    link.rank = found.rank;
    link.joined = found.id;
    return found.rank != kNoRank;
  };
  for (uint32_t i = 0; i < size; ++i)
    if (look(i)) storage.push_back({links[i].rank, i});
  std::priority_queue<Candidate, std::vector<Candidate>, std::greater<>> heap(std::greater<>(), std::move(storage));
  while (!heap.empty()) {
    const auto [rank, at] = heap.top();
    heap.pop();
    Link& link = links[at];
    if (link.id < 0 || link.rank != rank) continue;  // the part is gone, or its pair has changed
    link.id = link.joined;
    // Unlink the right part, then look at the two pairs that changed.
    const uint32_t gone = link.after;
    links[gone].id = -1;
    link.after = links[gone].after;
    if (link.after != size) links[link.after].before = at;
    if (look(at)) heap.push({link.rank, at});
    if (link.before != size && look(link.before)) heap.push({links[link.before].rank, link.before});
  }
  for (uint32_t at = 0; at < size; at = links[at].after) out.push_back(links[at].id);
}

}  // namespace

bool Vocabulary::insert(Token id) {
  const StringRef bytes = text(id);
  if (bytes.size() == 2) {
    Token& place = of_pair_[loadBytes(bytes.data(), 2)];
    if (place >= 0) return false;
    place = id;
    return true;
  }
  const uint64_t key = keyOf(bytes), hash = hashOf(key, bytes.size());
  size_t slot = hash & mask_;
  for (; slots_[slot].id >= 0; slot = (slot + 1) & mask_)
    if (text(slots_[slot].id) == bytes) return false;
  seen_[hash >> 50] |= uint64_t{1} << (hash >> 44 & 63);
  slots_[slot] = {key, id, uint32_t(bytes.size())};
  return true;
}

Expected<Vocabulary> Vocabulary::make(ArrayRef<StringRef> tokens) {
  if (tokens.size() > kMostTokens) return failure("{} tokens, at most {} are allowed", tokens.size(), kMostTokens);
  Vocabulary result;
  size_t total = 0;
  for (const StringRef token : tokens) {
    if (token.size() > kLongestToken)
      return failure("token {}… has {} bytes, at most {} are allowed", shown(token.take_front(12)), token.size(),
                     kLongestToken);
    total += token.size();
    result.longest_ = std::max(result.longest_, token.size());
  }
  // Places of texts are stored in 32 bits.
  if (total > std::numeric_limits<uint32_t>::max()) return failure("the tokens' texts are longer than 4 GiB together");
  result.bytes_.reserve(total);
  result.begin_.reserve(tokens.size() + 1);
  for (const StringRef token : tokens) {
    result.begin_.push_back(uint32_t(result.bytes_.size()));
    result.bytes_ += token;
  }
  result.begin_.push_back(uint32_t(total));

  // At most half full, so that probes are short.
  size_t slots = 1024;
  while (slots < tokens.size() * 2) slots *= 2;
  result.slots_.resize(slots);
  result.mask_ = slots - 1;
  for (Token id = 0; id < result.size(); ++id)
    if (!result.text(id).empty() && !result.insert(id))
      return failure("tokens {} and {} are both '{}'", result.find(result.text(id)), id, shown(result.text(id)));
  // Every byte needs a token, else some texts could not be encoded.
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = char(byte);
    const Token id = result.find(StringRef(&c, 1));
    if (id < 0)
      return failure("no token stands for the byte 0x{:02x}; a byte-level vocabulary has one for each of the 256",
                     byte);
    result.of_byte_[byte] = id;
  }
  return result;
}

void mergePiece(const Vocabulary& vocabulary, const PairMerges* pairs, StringRef piece, std::vector<Token>& out) {
  // The kind of join is a template argument, so that the inner loops call nothing through a pointer.
  const auto merge = [&](const auto& join) {
    piece.size() <= kShort ? mergeShort(vocabulary, join, piece, out) : mergeLong(vocabulary, join, piece, out);
  };
  if (!pairs)
    return merge([&](Token, Token, StringRef both) {
      const Token id = vocabulary.find(both);
      return Joined{uint32_t(id), id};  // an id of -1 becomes kNoRank
    });
  merge([&](Token left, Token right, StringRef) {
    const auto found = pairs->find(pairKey(left, right));
    return found == pairs->end() ? Joined{} : found->second;
  });
}

}  // namespace expc::text
