#pragma once

// Loops of one kind (DepthwiseLoops<float>, BlockLoops<Bf16>, …) are compiled once for each instruction set; which of
// them run is decided when the program starts.

namespace expc::kernels {

/// The best for this processor, or those that a test has chosen.
template <typename Loops>
const Loops& loopsOf();

/// All that this processor runs, for tests; the last is the best. Ends with null.
template <typename Loops>
const Loops* const* allLoops();

/// For tests, between steps: these run from now on; null: the best again.
template <typename Loops>
void chooseLoops(const Loops* loops);

}  // namespace expc::kernels
