#pragma once

#include <cstdint>
#include <string_view>

namespace nullgpu {

/// The reasons why a card's clocks are held down (NVML's bits, nvmlClocksEventReason*) in a list such as
/// "0=0x8, 2=0x40": card 0 slows down for its hardware's sake and card 2 for its heat's. "0x20" is for all cards. What
/// cannot be read ends the process: refuse().
uint64_t throttleIn(std::string_view list, unsigned card);

/// The same of NULLGPU_THROTTLE, as whoever asks has it set at that moment: a list, or "@FILE", whose first line is one
/// and which may change at any time. No file, no reasons.
uint64_t throttleAsked(unsigned card);

}  // namespace nullgpu
