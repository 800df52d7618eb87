// Joins the kernels, which know no torch, to torch's streams and errors.

#include "runtime/worker/kernels/cuda/cuda_loops.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAStream.h>

#include "runtime/worker/kernels/cuda/decoder_kernels.h"

namespace expc::kernels {

void addCudaLoops() {
  setDeviceLoops(cuda::decoderKernels({.stream = [] { return c10::cuda::getCurrentCUDAStream().stream(); },
                                       .launched = [] { C10_CUDA_KERNEL_LAUNCH_CHECK(); }}));
}

}  // namespace expc::kernels
