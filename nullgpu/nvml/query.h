#pragma once

#include <optional>
#include <string>

#include "nullgpu/core/cards.h"
#include "nullgpu/nvml/interface.h"

namespace nullgpu::nvml {

/// Whether there were more calls of nvmlInit than of nvmlShutdown.
bool isInitialized();

Device* handleOf(unsigned card);
/// The card of a handle; nothing where `handle` is none.
std::optional<unsigned> cardOf(const Device* handle);

/// As NVML copies texts into a caller's buffer.
Result copyText(const std::string& text, char* out, unsigned size);

/// Around each function that asks about a card: `answer(card, state)` where NVML is initialised, the handle one of
/// ours, no pointer of `outs` null and the card not lost.
template <typename Answer, typename... Outs>
Result query(const Device* handle, Answer&& answer, const Outs*... outs) {
  if (!isInitialized()) return Uninitialized;
  const auto card = cardOf(handle);
  if (!card || (... || (outs == nullptr))) return InvalidArgument;
  const CardState state = cardState(*card);
  if (state.lost) return GpuIsLost;
  return answer(*card, state);
}

/// For questions whose answer is a number.
template <typename Value, typename Number>
Result answerWith(const Device* handle, Value* out, Number&& number) {
  return query(
      handle,
      [&](unsigned card, const CardState& state) {
        *out = static_cast<Value>(number(card, state));
        return Success;
      },
      out);
}

}  // namespace nullgpu::nvml
