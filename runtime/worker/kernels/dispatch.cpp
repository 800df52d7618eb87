// Chooses the loops of the best instruction set that this processor has, once per kind of loops, at their first use.
//
// Each loops_<isa>.cpp defines its tables in a namespace of its own (isa_base, isa_avx2, …). The macros at the end
// declare those tables and list them from the plainest to the best. All are linked into every program; which of them
// may be called is a question to the processor, not to the build.

#include <array>
#include <cstddef>

#include "runtime/worker/kernels/batch_norm_loops.h"
#include "runtime/worker/kernels/decoder_loops.h"
#include "runtime/worker/kernels/depthwise_loops.h"
#include "runtime/worker/kernels/inverted_residual_loops.h"

namespace expc::kernels {
namespace {

constexpr size_t kMostIsas = 4;

/// How many instruction sets of EXPC_FOR_EACH_BF16_ISA this processor has; each one includes those before it. The
/// tests ask for all that -march=x86-64-v3 and -v4 let the compiler use in loops.
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

/// Loops from the plainest to the best, with at least one null pointer behind.
template <typename Loops>
using List = std::array<const Loops*, kMostIsas + 1>;

/// `all` without the loops that this processor cannot run.
template <typename Loops>
List<Loops> cut(List<Loops> all) {
  for (size_t i = usable(); i < all.size(); ++i) all[i] = nullptr;
  return all;
}

template <typename Loops>
const Loops* best() {
  const Loops* const* all = allLoops<Loops>();
  while (all[1] != nullptr) ++all;
  return *all;
}

/// The loops in use. A function's static variable, because other static initialisers may compute already.
template <typename Loops>
const Loops*& chosen() {
  static const Loops* loops = best<Loops>();
  return loops;
}

}  // namespace

template <typename Loops>
const Loops& loopsOf() {
  return *chosen<Loops>();
}

template <typename Loops>
void chooseLoops(const Loops* loops) {
  chosen<Loops>() = loops != nullptr ? loops : best<Loops>();
}

#ifdef __x86_64__
// The instruction sets for which loops of fp64 and fp32 are built, and those for bf16, which has one more.
#define EXPC_FOR_EACH_ISA(DO, ...) DO(isa_base, __VA_ARGS__) DO(isa_avx2, __VA_ARGS__) DO(isa_avx512, __VA_ARGS__)
#define EXPC_FOR_EACH_BF16_ISA(DO, ...) EXPC_FOR_EACH_ISA(DO, __VA_ARGS__) DO(isa_avx512bf16, __VA_ARGS__)
#else
#define EXPC_FOR_EACH_ISA(DO, ...) DO(isa_base, __VA_ARGS__)
#define EXPC_FOR_EACH_BF16_ISA(DO, ...) EXPC_FOR_EACH_ISA(DO, __VA_ARGS__)
#endif
// The X-macros' parts: declares an instruction set's table, and takes its address.
#define EXPC_DECLARE(isa, Loops, name) \
  namespace isa {                      \
  extern const Loops name;             \
  }
#define EXPC_PLACE(isa, Loops, name) &isa::name,
// Defines loopsOf(), allLoops() and chooseLoops() for one kind of loops. `name` is its table in each isa's namespace.
#define EXPC_LOOPS(for_each, Loops, name)                                     \
  for_each(EXPC_DECLARE, Loops, name) template <>                             \
  const Loops* const* allLoops<Loops>() {                                     \
    static const auto list = cut<Loops>({for_each(EXPC_PLACE, Loops, name)}); \
    return list.data();                                                       \
  }                                                                           \
  template const Loops& loopsOf<Loops>();                                     \
  template void chooseLoops<Loops>(const Loops*);

EXPC_LOOPS(EXPC_FOR_EACH_ISA, DepthwiseLoops<double>, loops64)
EXPC_LOOPS(EXPC_FOR_EACH_ISA, DepthwiseLoops<float>, loops32)
EXPC_LOOPS(EXPC_FOR_EACH_ISA, BatchNormLoops, batch_norm_loops)
EXPC_LOOPS(EXPC_FOR_EACH_ISA, BlockLoops<double>, blocks64)
EXPC_LOOPS(EXPC_FOR_EACH_ISA, BlockLoops<float>, blocks32)
EXPC_LOOPS(EXPC_FOR_EACH_BF16_ISA, BlockLoops<Bf16>, blocks16)
EXPC_LOOPS(EXPC_FOR_EACH_ISA, DecoderLoops<float>, decoder32)
EXPC_LOOPS(EXPC_FOR_EACH_BF16_ISA, DecoderLoops<Bf16>, decoder16)

namespace {
const DeviceLoops* on_device = nullptr;
}
// No lock: set once before anything computes (decoder_loops.h).
const DeviceLoops* deviceLoops() { return on_device; }
void setDeviceLoops(const DeviceLoops* loops) { on_device = loops; }

int64_t scratchSize(const DepthwiseShape& shape) {
  // Two rows of padding, two halves of columns, each rounded up by at most three vectors of sixteen.
  return (shape.height + 2) * 2 * (shape.width + 2 + 3 * 16);
}

}  // namespace expc::kernels
