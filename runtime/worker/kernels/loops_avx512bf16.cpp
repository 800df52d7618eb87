// Loops over tensors stored in bf16 only: for other types AVX-512 BF16 adds nothing to AVX-512.
#define EXPC_ISA isa_avx512bf16
#define EXPC_ISA_NAME "avx512bf16"
#define EXPC_LANES 8
#define EXPC_ONLY_BF16
#include "runtime/worker/kernels/decoder_loops.inc"
#include "runtime/worker/kernels/fused_depthwise_loops.inc"
