// The loops for processors with AVX2 and FMA (x86-64-v3), compiled with that -march (CMakeLists.txt).
#define EXPC_ISA isa_avx2
#define EXPC_ISA_NAME "avx2"
#define EXPC_LANES 4
#include "runtime/worker/kernels/batch_norm_loops.inc"
#include "runtime/worker/kernels/decoder_loops.inc"
#include "runtime/worker/kernels/depthwise_loops.inc"
#include "runtime/worker/kernels/fused_depthwise_loops.inc"
