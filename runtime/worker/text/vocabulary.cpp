#include "runtime/worker/text/vocabulary.h"

#include <fmt/format.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <limits>

namespace expc::text {
namespace {

/// For messages: readable whatever the bytes are, and not endless.
std::string shown(llvm::StringRef bytes) {
  constexpr size_t most = 40;
  std::string result;
  for (const char c : bytes.take_front(most))
    result += llvm::isPrint(c) ? std::string(1, c) : fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return bytes.size() > most ? result + "…" : result;
}

}  // namespace

bool Vocabulary::insert(Token id) {
  const llvm::StringRef bytes = text(id);
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
  slots_[slot] = {key, id, static_cast<uint32_t>(bytes.size())};
  return true;
}

llvm::Expected<Vocabulary> Vocabulary::make(llvm::ArrayRef<llvm::StringRef> tokens) {
  if (tokens.size() > kMostTokens) return failure("{} tokens, at most {} are taken", tokens.size(), kMostTokens);
  Vocabulary result;
  size_t total = 0;
  for (const llvm::StringRef token : tokens) {
    if (token.size() > kLongestToken)
      return failure("token {}… has {} bytes, at most {} are taken", shown(token.take_front(12)), token.size(),
                     kLongestToken);
    total += token.size();
    result.longest_ = std::max(result.longest_, token.size());
  }
  if (total > std::numeric_limits<uint32_t>::max()) return failure("the tokens' texts are longer than 4 GiB together");
  result.bytes_.reserve(total);
  result.begin_.reserve(tokens.size() + 1);
  for (const llvm::StringRef token : tokens) {
    result.begin_.push_back(static_cast<uint32_t>(result.bytes_.size()));
    result.bytes_ += token;
  }
  result.begin_.push_back(static_cast<uint32_t>(total));

  size_t slots = 1024;
  while (slots < tokens.size() * 2) slots *= 2;
  result.slots_.resize(slots);
  result.mask_ = slots - 1;
  for (Token id = 0; id < result.size(); ++id)
    if (!result.text(id).empty() && !result.insert(id))
      return failure("tokens {} and {} are both '{}'", result.find(result.text(id)), id, shown(result.text(id)));
  for (unsigned byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const Token id = result.find(llvm::StringRef(&c, 1));
    if (id < 0)
      return failure("no token stands for the byte 0x{:02x}; a byte-level vocabulary has one for each of the 256",
                     byte);
    result.of_byte_[byte] = id;
  }
  return result;
}

}  // namespace expc::text
