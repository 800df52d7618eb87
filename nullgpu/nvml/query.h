#pragma once

#ifndef NVML_NO_UNVERSIONED_FUNC_DEFS
#define NVML_NO_UNVERSIONED_FUNC_DEFS  // the names here are those of the library
#endif
#include <nvml.h>

#include <optional>
#include <string>
#include <type_traits>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/machine.h"

namespace nullgpu::nvml {

/// Whether there were more calls of nvmlInit than of nvmlShutdown.
bool isInitialized();

nvmlDevice_t handleOf(unsigned card);
/// The card of a handle; nothing where `handle` is none.
std::optional<unsigned> cardOf(nvmlDevice_t handle);

/// As NVML copies texts into a caller's buffer.
nvmlReturn_t copyText(const std::string& text, char* out, unsigned size);

/// Around each function that asks about a card: `answer(card, state)` where NVML is initialised, the handle one of
/// ours, no pointer of `outs` null and the card not lost.
template <typename Answer, typename... Outs>
nvmlReturn_t query(nvmlDevice_t handle, Answer&& answer, const Outs*... outs) {
  if (!isInitialized()) return NVML_ERROR_UNINITIALIZED;
  const auto card = cardOf(handle);
  if (!card || (... || (outs == nullptr))) return NVML_ERROR_INVALID_ARGUMENT;
  const CardState state = machine().state(*card);
  if (state.lost) return NVML_ERROR_GPU_IS_LOST;
  return answer(*card, state);
}

/// For questions whose answer is a number: one that does not change, or `number(card, state)`. All of `outs` get it.
template <typename Number, typename... Values>
nvmlReturn_t answerWith(nvmlDevice_t handle, Number&& number, Values*... outs) {
  return query(
      handle,
      [&](unsigned card, const CardState& state) {
        if constexpr (std::is_invocable_v<Number, unsigned, const CardState&>)
          (..., (*outs = static_cast<Values>(number(card, state))));
        else
          (..., (*outs = static_cast<Values>(number)));
        return NVML_SUCCESS;
      },
      outs...);
}

}  // namespace nullgpu::nvml
