// Chooses, when the program starts, which instruction set's loops run.

#include <array>

#include "runtime/worker/kernels/batch_norm_loops.h"
#include "runtime/worker/kernels/decoder_loops.h"
#include "runtime/worker/kernels/depthwise_loops.h"
#include "runtime/worker/kernels/inverted_residual_loops.h"

namespace expc::kernels {

#ifdef __x86_64__
#define EXPC_FOR_EACH_ISA(DO) DO(isa_base) DO(isa_avx2) DO(isa_avx512)
#define EXPC_FOR_EACH_BF16_ISA(DO) EXPC_FOR_EACH_ISA(DO) DO(isa_avx512bf16)
#else
#define EXPC_FOR_EACH_ISA(DO) DO(isa_base)
#define EXPC_FOR_EACH_BF16_ISA(DO) EXPC_FOR_EACH_ISA(DO)
#endif

#define EXPC_DECLARE(isa)                       \
  namespace isa {                               \
  extern const DepthwiseLoops<double> loops64;  \
  extern const DepthwiseLoops<float> loops32;   \
  extern const BatchNormLoops batch_norm_loops; \
  extern const BlockLoops<double> blocks64;     \
  extern const BlockLoops<float> blocks32;      \
  extern const BlockLoops<Bf16> blocks16;       \
  extern const DecoderLoops<float> decoder32;   \
  extern const DecoderLoops<Bf16> decoder16;    \
  }
EXPC_FOR_EACH_ISA(EXPC_DECLARE)
#undef EXPC_DECLARE
#ifdef __x86_64__
namespace isa_avx512bf16 {
extern const BlockLoops<Bf16> blocks16;
extern const DecoderLoops<Bf16> decoder16;
}  // namespace isa_avx512bf16
#endif

namespace {

/// Instruction sets this processor has, the first ones of EXPC_FOR_EACH_BF16_ISA.
size_t usable() {
#ifdef __x86_64__
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return 1;
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
  if (!avx512) return 2;
  return __builtin_cpu_supports("avx512bf16") ? 4 : 3;
#else
  return 1;
#endif
}

template <typename Loops, size_t N>
std::array<const Loops*, N> cut(std::array<const Loops*, N> all) {
  for (size_t i = usable(); i < N; ++i) all[i] = nullptr;
  return all;
}

template <typename Loops>
const Loops& lastOf(const Loops* const* all) {
  while (all[1] != nullptr) ++all;
  return **all;
}

}  // namespace

template <>
const DepthwiseLoops<double>* const* allDepthwiseLoops<double>() {
#define EXPC_LIST(isa) &isa::loops64,
  static const auto list = cut(std::array<const DepthwiseLoops<double>*, 4>{EXPC_FOR_EACH_ISA(EXPC_LIST)});
#undef EXPC_LIST
  return list.data();
}

template <>
const DepthwiseLoops<float>* const* allDepthwiseLoops<float>() {
#define EXPC_LIST(isa) &isa::loops32,
  static const auto list = cut(std::array<const DepthwiseLoops<float>*, 4>{EXPC_FOR_EACH_ISA(EXPC_LIST)});
#undef EXPC_LIST
  return list.data();
}

const BatchNormLoops* const* allBatchNormLoops() {
#define EXPC_LIST(isa) &isa::batch_norm_loops,
  static const auto list = cut(std::array<const BatchNormLoops*, 4>{EXPC_FOR_EACH_ISA(EXPC_LIST)});
#undef EXPC_LIST
  return list.data();
}

#define EXPC_ALL(Loops, all, each)                                              \
  template <>                                                                   \
  const Loops* const* all() {                                                   \
    static const auto list = cut(std::array<const Loops*, 5>{each(EXPC_LIST)}); \
    return list.data();                                                         \
  }
#define EXPC_LIST(isa) &isa::blocks64,
EXPC_ALL(BlockLoops<double>, allBlockLoops<double>, EXPC_FOR_EACH_ISA)
#undef EXPC_LIST
#define EXPC_LIST(isa) &isa::blocks32,
EXPC_ALL(BlockLoops<float>, allBlockLoops<float>, EXPC_FOR_EACH_ISA)
#undef EXPC_LIST
#define EXPC_LIST(isa) &isa::blocks16,
EXPC_ALL(BlockLoops<Bf16>, allBlockLoops<Bf16>, EXPC_FOR_EACH_BF16_ISA)
#undef EXPC_LIST
#define EXPC_LIST(isa) &isa::decoder32,
EXPC_ALL(DecoderLoops<float>, allDecoderLoops<float>, EXPC_FOR_EACH_ISA)
#undef EXPC_LIST
#define EXPC_LIST(isa) &isa::decoder16,
EXPC_ALL(DecoderLoops<Bf16>, allDecoderLoops<Bf16>, EXPC_FOR_EACH_BF16_ISA)
#undef EXPC_LIST

namespace {

/// The loops that run: the best, until a test chooses others.
template <typename Loops>
const Loops*& chosen(const Loops* const* all) {
  static const Loops* loops = &lastOf(all);
  return loops;
}

}  // namespace

template <typename S>
const BlockLoops<S>& blockLoops() {
  return *chosen(allBlockLoops<S>());
}
template <typename S>
void chooseBlockLoops(const BlockLoops<S>* loops) {
  chosen(allBlockLoops<S>()) = loops != nullptr ? loops : &lastOf(allBlockLoops<S>());
}
template void chooseBlockLoops(const BlockLoops<double>*);
template void chooseBlockLoops(const BlockLoops<float>*);
template void chooseBlockLoops(const BlockLoops<Bf16>*);
template const BlockLoops<double>& blockLoops<double>();
template const BlockLoops<float>& blockLoops<float>();
template const BlockLoops<Bf16>& blockLoops<Bf16>();

template <typename S>
const DecoderLoops<S>& decoderLoops() {
  return *chosen(allDecoderLoops<S>());
}
template <typename S>
void chooseDecoderLoops(const DecoderLoops<S>* loops) {
  chosen(allDecoderLoops<S>()) = loops != nullptr ? loops : &lastOf(allDecoderLoops<S>());
}
template void chooseDecoderLoops(const DecoderLoops<float>*);
template void chooseDecoderLoops(const DecoderLoops<Bf16>*);
template const DecoderLoops<float>& decoderLoops<float>();
template const DecoderLoops<Bf16>& decoderLoops<Bf16>();

namespace {
const DeviceLoops* on_device = nullptr;
}
const DeviceLoops* deviceLoops() { return on_device; }
void setDeviceLoops(const DeviceLoops* loops) { on_device = loops; }

template <typename T>
const DepthwiseLoops<T>& depthwiseLoops() {
  static const DepthwiseLoops<T>& best = lastOf(allDepthwiseLoops<T>());
  return best;
}
template const DepthwiseLoops<double>& depthwiseLoops<double>();
template const DepthwiseLoops<float>& depthwiseLoops<float>();

const BatchNormLoops& batchNormLoops() {
  static const BatchNormLoops& best = lastOf(allBatchNormLoops());
  return best;
}

int64_t scratchSize(const DepthwiseShape& shape) {
  // Two rows of padding, two halves of columns, each rounded up by at most three vectors of sixteen.
  return (shape.height + 2) * 2 * (shape.width + 2 + 3 * 16);
}

}  // namespace expc::kernels
