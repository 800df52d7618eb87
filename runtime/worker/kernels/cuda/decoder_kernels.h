#pragma once

// CUDA's column of the decoder's loops, without torch: the .cu file is compiled by nvcc and needs only these two
// calls from the program around it.

#include <cuda_runtime_api.h>

#include "runtime/worker/kernels/decoder_loops.h"

namespace expc::kernels::cuda {

/// Callbacks into the program that launches.
struct Launching {
  cudaStream_t (*stream)();  // the current stream of the current device
  void (*launched)();        // called after each launch; throws if it failed
};

/// The column, which lives until the program ends. Called once, before any launch: the callbacks are kept in a
/// global.
const DeviceLoops* decoderKernels(Launching launching);

}  // namespace expc::kernels::cuda
