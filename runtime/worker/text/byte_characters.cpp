#include "runtime/worker/text/byte_characters.h"

#include <array>
#include <cstdint>

#include "runtime/worker/text/characters.h"

namespace expc::text {
namespace {

constexpr size_t kCharacters = 256 + 68;  // 68 bytes are not printable

/// Printable bytes of Latin-1 stand for themselves, the others, in order, for 256 and up. -1: no character of the
/// table.
constexpr std::array<int16_t, kCharacters> characterTable() {
  std::array<int16_t, kCharacters> table{};
  for (auto& entry : table) entry = -1;
  size_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    table[printable ? static_cast<size_t>(byte) : next++] = static_cast<int16_t>(byte);
  }
  return table;
}

}  // namespace

std::optional<std::string> bytesOfCharacters(llvm::StringRef text) {
  static constexpr auto table = characterTable();
  std::string bytes;
  for (size_t at = 0; at < text.size();) {
    const Character character = characterAt(text.data() + at);
    if (character.code_point >= table.size() || table[character.code_point] < 0) return std::nullopt;
    bytes += static_cast<char>(table[character.code_point]);
    at += character.bytes;
  }
  return bytes;
}

}  // namespace expc::text
