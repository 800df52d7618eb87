#pragma once

// Access to the loops of one kind (DepthwiseLoops<float>, BlockLoops<Bf16>, …). The build compiles them once for each
// instruction set; the program picks one set when it first uses them (dispatch.cpp). A kernel therefore calls through
// a table of function pointers, never a loop by its name.

namespace expc::kernels {

/// The best loops that this processor can run, or those that a test has chosen.
template <typename Loops>
const Loops& loopsOf();

/// All loops that this processor can run, from the plainest to the best, then a null pointer. For tests.
template <typename Loops>
const Loops* const* allLoops();

/// Makes loopsOf() return these loops, or the best ones again for null. For tests, while nothing computes: threads
/// read the choice without a lock.
template <typename Loops>
void chooseLoops(const Loops* loops);

}  // namespace expc::kernels
