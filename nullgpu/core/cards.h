#pragma once

// The cards, that is the simulated GPUs, of the machine: which of them this process sees, and their
// names, uuids and bus addresses. Two numberings exist: the machine's numbers (machine.h, NVML,
// cardUuid()) and this process's numbers, which are positions in visibleCards() (the runtime,
// memory.h).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nullgpu {

/// The first bytes of each null card's uuid, "null" in ASCII, by which other programs tell it from
/// a real GPU.
inline constexpr unsigned char kUuidMark[4] = {'n', 'u', 'l', 'l'};

/// The machine's numbers of the cards that this process sees, in its order. CUDA_VISIBLE_DEVICES is
/// read at the first call and never again, as in CUDA. Never destroyed. Thread-safe.
const std::vector<unsigned>& visibleCards();
/// Whether `device` is a card of this process.
inline bool isCard(int device) { return device >= 0 && size_t(device) < visibleCards().size(); }

/// The cards that CUDA_VISIBLE_DEVICES=`list` selects from a machine with `cards` cards, by CUDA's
/// rules. The list holds numbers or, if its first entry is one, uuids or prefixes of uuids that
/// match exactly one card. The first invalid entry ends the list; a card named twice makes it
/// empty.
std::vector<unsigned> visibleCards(std::string_view list, unsigned cards);

/// These names are equal for NVML, the runtime and CUPTI. `card` is the machine's number.
std::string cardName();               // "Null GPU (computes nothing)"
std::string cardUuid(unsigned card);  // "GPU-6e756c6c-0000-0000-0000-000000000001"
std::string cardBus(unsigned card);   // "0000:01:00.0"
/// The bus number within cardBus(); never 0 for the first 255 cards.
constexpr unsigned busNumber(unsigned card) { return (card + 1) & 0xff; }

/// A process that uses a card, and how much memory of it.
struct CardProcess {
  int pid = 0;
  uint64_t bytes = 0;  // of the card's memory
};

/// Clocks of a card that works, in MHz, whichever library is asked: an H200's.
inline constexpr unsigned kWorkClock = 1980, kMemoryClock = 3201;

/// A snapshot of a card, over all processes of the machine.
struct CardState {
  /// Memory in use, in bytes.
  uint64_t used = 0;
  /// Live processes that have used the card.
  std::vector<CardProcess> processes;
  /// Energy since the machine's file was made: idle power, and more while the card works.
  uint64_t millijoules = 0;
  unsigned milliwatts = 0;
  unsigned clock_mhz = 0, memory_clock_mhz = 0, celsius = 0;
  /// Reasons for reduced clocks, in NVML's bits (nvmlClocksEventReason*).
  uint64_t throttle = 0;
  /// The card has fallen off the bus (fault "lost"), for every process.
  bool lost = false;
};

}  // namespace nullgpu
