#pragma once

// Whole images by stream.h.

#include "runtime/worker/data/images.h"
#include "runtime/worker/data/preparation.h"
#include "runtime/worker/data/taps.h"

namespace expc::data {

/// Writes scaled red, green, blue pixels as `preparation` says if that is channels last and bytes, or normalised to
/// fp32, fp16 or bf16. False: it is not, or the processor lacks the instructions, and nothing was written.
bool streamColour(const Preparation& preparation, const uint8_t* pixels, void* out);

/// The same from a grey image that grows, or stays, along both axes, into three normalised channels. Equal to the plain
/// form but for the last bit of a float.
bool streamGrey(const Preparation& preparation, const Pixels& image, const Taps& across, const Taps& down, void* out);

}  // namespace expc::data
