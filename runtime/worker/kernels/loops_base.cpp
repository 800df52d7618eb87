// The loops for any processor. With two lanes of double a vector is 16 bytes, which SSE2 and NEON both have.
#define EXPC_ISA isa_base
#define EXPC_ISA_NAME "portable"
#define EXPC_LANES 2
#include "runtime/worker/kernels/batch_norm_loops.inc"
#include "runtime/worker/kernels/decoder_loops.inc"
#include "runtime/worker/kernels/depthwise_loops.inc"
#include "runtime/worker/kernels/fused_depthwise_loops.inc"
