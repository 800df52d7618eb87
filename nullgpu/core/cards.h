#pragma once

// The cards of the machine: which there are, and what they are called.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nullgpu {

/// Begins each uuid of a null card: "null" in ASCII.
inline constexpr unsigned char kUuidMark[4] = {'n', 'u', 'l', 'l'};

/// Cards of the machine that this process sees, in its order (CUDA_VISIBLE_DEVICES: numbers, uuids, beginnings of
/// uuids).
const std::vector<unsigned>& visibleCards();
/// Whether the process sees a card of that number.
inline bool isCard(int device) { return device >= 0 && size_t(device) < visibleCards().size(); }

/// The cards that CUDA_VISIBLE_DEVICES=`list` leaves of a machine's `cards`, in its order, by CUDA's rules: numbers or,
/// where the first entry is one, uuids and their beginnings that name one card alone. The first entry that names
/// nothing ends the list; an entry that names a card again empties it.
std::vector<unsigned> visibleCards(std::string_view list, unsigned cards);

std::string cardName();               // "Null GPU (computes nothing)"
std::string cardUuid(unsigned card);  // "GPU-6e756c6c-0000-0000-0000-000000000001"
std::string cardBus(unsigned card);   // "0000:01:00.0"
constexpr unsigned busNumber(unsigned card) { return (card + 1) & 0xff; }

struct CardProcess {
  int pid = 0;
  uint64_t bytes = 0;  // of the card's memory that it holds
};

/// A card at this moment.
struct CardState {
  uint64_t used = 0;                   // bytes, over all living processes
  std::vector<CardProcess> processes;  // those that have opened it and live
  uint64_t millijoules = 0;            // since the machine's file was made: idle power, and more while work is done
  unsigned milliwatts = 0;
  unsigned clock_mhz = 0, memory_clock_mhz = 0, celsius = 0;
  uint64_t throttle = 0;  // NVML's bits of reasons
  bool lost = false;
};

}  // namespace nullgpu
