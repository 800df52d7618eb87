// Names of the null cards, and CUDA_VISIBLE_DEVICES as CUDA reads it (CUDA C++ Programming Guide,
// "CUDA Environment Variables"). Programs rely on its odd rules, so they are copied exactly.

#include "nullgpu/core/cards.h"

#include <strings.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/words.h"

namespace nullgpu {
namespace {

/// A card by its decimal number; nothing if the entry names none.
std::optional<unsigned> byNumber(const std::string& entry, unsigned cards) {
  char* end = nullptr;
  const long number = std::strtol(entry.c_str(), &end, 10);  // CUDA reads "1gpu" as 1, too
  if (end == entry.c_str() || number < 0 || number >= long(cards)) return std::nullopt;
  return unsigned(number);
}

/// A card by its uuid or a prefix that matches no other card; letter case does not matter.
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
  // The first entry decides how the whole list is read; an entry of the other kind ends it.
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

const std::vector<unsigned>& visibleCards() {
  static const auto& cards = *[] {
    const unsigned all = configuration().cards;
    if (const char* list = std::getenv("CUDA_VISIBLE_DEVICES")) return new auto(visibleCards(list, all));
    auto* every = new std::vector<unsigned>;
    for (unsigned card = 0; card < all; ++card) every->push_back(card);
    return every;
  }();
  return cards;
}

std::string cardName() { return "Null GPU (computes nothing)"; }

std::string cardUuid(unsigned card) {
  char text[48];
  // The last six bytes hold the number plus one. propertiesOf() in cudart/device.cpp fills the same
  // bytes.
  std::snprintf(text, sizeof text, "GPU-%02x%02x%02x%02x-0000-0000-0000-%012x", kUuidMark[0], kUuidMark[1],
                kUuidMark[2], kUuidMark[3], card + 1);
  return text;
}

std::string cardBus(unsigned card) {
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", busNumber(card));
  return text;
}

}  // namespace nullgpu
