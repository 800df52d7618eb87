#define EXPC_ISA isa_base
#define EXPC_ISA_NAME "portable"
#define EXPC_LANES 2
#include "runtime/worker/kernels/batch_norm_loops.inc"
#include "runtime/worker/kernels/decoder_loops.inc"
#include "runtime/worker/kernels/depthwise_loops.inc"
#include "runtime/worker/kernels/fused_depthwise_loops.inc"
