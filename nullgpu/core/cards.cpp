#include "nullgpu/core/cards.h"

#include <cstdio>
#include <cstdlib>

#include "nullgpu/core/configuration.h"
#include "nullgpu/core/machine.h"

namespace nullgpu {
namespace {

Machine& machine() {
  // Never destroyed: what is freed while the process ends still gives its bytes back.
  static Machine& machine = *[] {
    const Configuration& told = configuration();
    return new Machine(told.machine, {.memory = told.memory, .cards = told.cards, .capability = told.capability});
  }();
  return machine;
}

}  // namespace

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
  std::snprintf(text, sizeof text, "GPU-%02x%02x%02x%02x-0000-0000-0000-%012x", kUuidMark[0], kUuidMark[1],
                kUuidMark[2], kUuidMark[3], card + 1);
  return text;
}

std::string cardBus(unsigned card) {
  char text[16];
  std::snprintf(text, sizeof text, "0000:%02x:00.0", (card + 1) & 0xff);
  return text;
}

CardState cardState(unsigned card) { return machine().state(card); }
bool reserve(unsigned card, uint64_t bytes) { return machine().reserve(card, bytes); }
void release(unsigned card, uint64_t bytes) { machine().release(card, bytes); }
void worked(unsigned card, uint64_t nanoseconds) { machine().worked(card, nanoseconds); }
void lose(unsigned card) { machine().lose(card); }

}  // namespace nullgpu
