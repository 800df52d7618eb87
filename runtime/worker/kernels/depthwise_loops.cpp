#include "runtime/worker/kernels/depthwise_loops.h"

#include <array>

namespace expc::kernels {

namespace isa_base {
extern const DepthwiseLoops loops;
}
#ifdef __x86_64__
namespace isa_avx2 {
extern const DepthwiseLoops loops;
}
namespace isa_avx512 {
extern const DepthwiseLoops loops;
}
#endif

int64_t scratchSize(const DepthwiseShape& shape) {
  // Two rows of padding, two halves of columns, each rounded up by at most three vectors of eight.
  const auto plane = [](int64_t height, int64_t width) { return (height + 2) * 2 * (width + 2 + 3 * 8); };
  return plane(shape.height, shape.width);
}

const DepthwiseLoops* const* allDepthwiseLoops() {
  static const auto list = [] {
    std::array<const DepthwiseLoops*, 4> found{};
    size_t n = 0;
    found[n++] = &isa_base::loops;
#ifdef __x86_64__
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (avx2) found[n++] = &isa_avx2::loops;
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
      found[n++] = &isa_avx512::loops;
#endif
    return found;
  }();
  return list.data();
}

const DepthwiseLoops& depthwiseLoops() {
  static const DepthwiseLoops& best = *[] {
    const DepthwiseLoops* const* all = allDepthwiseLoops();
    while (all[1] != nullptr) ++all;
    return *all;
  }();
  return best;
}

}  // namespace expc::kernels
