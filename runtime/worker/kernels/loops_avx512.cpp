// The loops for processors with AVX-512 (x86-64-v4), compiled with that -march (CMakeLists.txt).
#define EXPC_ISA isa_avx512
#define EXPC_ISA_NAME "avx512"
#define EXPC_LANES 8
#include "runtime/worker/kernels/batch_norm_loops.inc"
#include "runtime/worker/kernels/decoder_loops.inc"
#include "runtime/worker/kernels/depthwise_loops.inc"
#include "runtime/worker/kernels/fused_depthwise_loops.inc"
