#include "nullgpu/core/visible_cards.h"

#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "nullgpu/core/cards.h"

namespace nullgpu {
namespace {

std::optional<unsigned> byNumber(const std::string& entry, unsigned cards) {
  char* end = nullptr;
  const long number = std::strtol(entry.c_str(), &end, 10);  // CUDA, too, takes "1gpu" for 1
  if (end == entry.c_str() || number < 0 || number >= static_cast<long>(cards)) return std::nullopt;
  return static_cast<unsigned>(number);
}

std::optional<unsigned> byUuid(const std::string& entry, unsigned cards) {
  std::optional<unsigned> found;
  for (unsigned card = 0; card < cards; ++card) {
    if (strncasecmp(cardUuid(card).c_str(), entry.c_str(), entry.size()) != 0) continue;
    if (found) return std::nullopt;
    found = card;
  }
  return found;
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t") - begin + 1));
}

}  // namespace

std::vector<unsigned> visibleCards(std::string_view list, unsigned cards) {
  std::vector<unsigned> kept;
  const bool uuids = trimmed(list).starts_with("GPU-");
  while (!list.empty()) {
    const size_t comma = list.find(',');
    const std::string entry = trimmed(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view() : list.substr(comma + 1);
    if (uuids && !entry.starts_with("GPU-")) break;
    const auto card = uuids ? byUuid(entry, cards) : byNumber(entry, cards);
    if (!card) break;
    if (std::ranges::find(kept, *card) != kept.end()) return {};
    kept.push_back(*card);
  }
  return kept;
}

}  // namespace nullgpu
