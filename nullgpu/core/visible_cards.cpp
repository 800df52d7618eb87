#include <strings.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/words.h"

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

}  // namespace

std::vector<unsigned> visibleCards(std::string_view list, unsigned cards) {
  std::vector<unsigned> kept;
  const bool uuids = trimmed(list).starts_with("GPU-");
  for (const std::string_view each : entriesOf(list)) {
    const std::string entry(each);
    if (uuids && !entry.starts_with("GPU-")) break;
    const auto card = uuids ? byUuid(entry, cards) : byNumber(entry, cards);
    if (!card) break;
    if (std::ranges::find(kept, *card) != kept.end()) return {};
    kept.push_back(*card);
  }
  return kept;
}

}  // namespace nullgpu
