// Only what is stored in bf16: in other types this instruction set has nothing beyond AVX-512's.
#define EXPC_ISA isa_avx512bf16
#define EXPC_ISA_NAME "avx512bf16"
#define EXPC_LANES 8
#define EXPC_ONLY_BF16
#include "runtime/worker/kernels/decoder_loops.inc"
#include "runtime/worker/kernels/fused_depthwise_loops.inc"
