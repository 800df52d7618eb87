#pragma once

// CUDA's column of the decoder's loops, without torch.

#include <cuda_runtime_api.h>

#include "runtime/worker/kernels/decoder_loops.h"

namespace expc::kernels::cuda {

/// What launches need of the program around them.
struct Launching {
  cudaStream_t (*stream)();  // of the current device
  void (*launched)();        // asked behind each launch; looks for errors
};

/// The column. Called once.
const DeviceLoops* decoderKernels(Launching launching);

}  // namespace expc::kernels::cuda
