#pragma once

// The one entry for programs that use GPUs; others do not link this library.

namespace expc::kernels {

/// Registers CUDA's loops (setDeviceLoops) with torch's current stream and its check of launches. A main function
/// calls it once, before anything is computed.
void addCudaLoops();

}  // namespace expc::kernels
