// CUDA's column of the decoder's loops: the grids and launches. A thread's arithmetic is in items.h and elements.h,
// which CPU tests cover. Nothing here includes torch: the stream and the check for errors come from the program
// (Launching). No launch waits for the device.

#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "runtime/worker/kernels/cuda/decoder_kernels.h"
#include "runtime/worker/kernels/cuda/items.h"

namespace expc::kernels {

/// fp16 as elements.h stores it, with CUDA's conversions.
template <>
struct Number<Half> {
  using Wide = float;
  static constexpr double kEpsilon = 0x1p-10;
  EXPC_ELEMENT float wide(Half x) { return __half2float(asBits<__half>(x)); }
  EXPC_ELEMENT Half narrow(float x) { return asBits<Half>(__float2half_rn(x)); }
};

namespace cuda {
namespace {

// Threads of a block: whole warps, since overBlock() joins the results of warps.
constexpr int kThreads = 256, kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffff;
// Set by decoderKernels() before the first launch.
Launching launching;

/// The number of blocks with `each` threads that n items need.
unsigned blocksFor(int64_t n, int64_t each = kThreads) { return unsigned((n + each - 1) / each); }

__device__ int64_t itemOfThread() { return int64_t{blockIdx.x} * blockDim.x + threadIdx.x; }

/// Launches kernel(count, arguments…) with at least one thread for each of `count` items; the kernel drops the rest.
/// An empty grid is an error to CUDA, so nothing is launched for it.
template <typename... Parameters, typename... Arguments>
void forEach(int64_t count, void (*kernel)(int64_t, Parameters...), Arguments... arguments) {
  if (count == 0) return;
  kernel<<<blocksFor(count), kThreads, 0, launching.stream()>>>(count, arguments...);
  launching.launched();
}

/// Calls work with the number of values per pack, as a compile-time constant: 16 bytes' worth if `n` is a multiple of
/// it and all addresses allow it, else kLeast. `n` must divide every length and offset at which the work is cut.
/// Views into larger tensors may start anywhere, hence the check.
template <typename S, int kLeast = 1, typename Work, typename... Pointers>
void withPacks(int64_t n, Work work, const Pointers*... pointers) {
  constexpr int kMost = 16 / sizeof(S);
  const bool aligned = ((reinterpret_cast<uintptr_t>(pointers) % alignof(Pack<Pointers, kMost>) == 0) && ...);
  if (n % kMost == 0 && aligned)
    work(std::integral_constant<int, kMost>());
  else
    work(std::integral_constant<int, kLeast>());
}

// --- NF4 ------------------------------------------------------------------------------------------------------------

/// A thread for each kNf4Item values. The 16 codes are rounded to S once a block, in shared memory.
template <typename S, typename As>
__global__ void expandAll(int64_t items, const uint8_t* packed, const int8_t* scales, const S* factors, const S* mean,
                          As* to) {
  __shared__ typename Number<S>::Wide codes[16];
  if (threadIdx.x < 16) codes[threadIdx.x] = nf4Code<S>(threadIdx.x);
  __syncthreads();
  const int64_t item = itemOfThread();
  if (item < items) expandNf4<S, As>(packed, scales, factors, mean, codes, item, to);
}

/// Calls work with a value of the given type.
template <typename Work>
void withType(Stored type, Work work) {
  switch (type) {
    case Stored::Fp64:
      return work(double());
    case Stored::Fp32:
      return work(float());
    case Stored::Bf16:
      return work(Bf16());
    case Stored::Fp16:
      return work(Half());
  }
}

/// DeviceLoops::expand_nf4: one kernel for each pair of types.
void expandNf4Matrix(const Nf4Memory& from, Stored stored, Stored as, void* to) {
  withType(stored, [&](auto made_in) {
    using S = decltype(made_in);
    withType(as, [&](auto cast_to) {
      using As = decltype(cast_to);
      forEach(from.blocks * (kNf4Block / kNf4Item), expandAll<S, As>, from.packed, from.scales,
              static_cast<const S*>(from.factors), static_cast<const S*>(from.mean), static_cast<As*>(to));
    });
  });
}

// --- rounding -------------------------------------------------------------------------------------------------------

/// The range over `lanes` neighbouring lanes of a warp, in each of them: a butterfly exchange.
__device__ Extent overLanes(Extent mine, int lanes) {
  for (int offset = lanes / 2; offset > 0; offset /= 2)
    mine = joined(mine,
                  {__shfl_xor_sync(kAllLanes, mine.least, offset), __shfl_xor_sync(kAllLanes, mine.largest, offset)});
  return mine;
}

/// The range of a row that the whole block works on. Called at most once in a kernel: `of_warps` is not safe for
/// reuse.
__device__ Extent overBlock(Extent mine) {
  __shared__ Extent of_warps[kThreads / kWarp];
  mine = overLanes(mine, kWarp);
  if (threadIdx.x % kWarp == 0) of_warps[threadIdx.x / kWarp] = mine;
  __syncthreads();
  for (const Extent& other : of_warps) mine = joined(mine, other);
  return mine;
}

/// Rounds rows with `members` threads each: a power of two up to a warp, or the whole block.
template <typename S, int N, int kBits>
__global__ void roundRows(int64_t threads, const S* x, int64_t width, int members, S* y, bool* inside, float* scale) {
  const int64_t thread = itemOfThread();
  // Threads behind the last row compute its range too but write nothing: __shfl_xor_sync and __syncthreads need all
  // threads.
  const bool real = thread < threads;
  const int64_t row = (real ? thread : threads - 1) / members;
  const int member = int(thread % members);
  const S* from = x + row * width;
  Extent extent = extentOf<S, N>(from, width, member, members);
  extent = members > kWarp ? overBlock(extent) : overLanes(extent, members);
  const Grid grid = kBits == 8 ? int8Grid<S>(extent.least, extent.largest) : int4Grid<S>(extent.least, extent.largest);
  if (!real) return;
  if (member == 0) scale[row] = grid.scale;
  roundPart<S, N>(from, width, member, members, grid, y + row * width,
                  inside == nullptr ? nullptr : inside + row * width);
}

/// Rows of up to 128 packs are shared by as many threads as they have packs, at most a warp; longer ones by a block.
template <typename S, int kBits>
void roundMatrix(const S* x, int64_t rows, int64_t width, S* y, bool* inside, float* scale) {
  withPacks<S>(
      width,
      [&](auto n) {
        constexpr int kPack = decltype(n)::value;
        const int64_t packs = width / kPack;
        int members = 1;
        while (members < packs && members < kWarp) members *= 2;
        if (packs > 4 * kWarp) members = kThreads;
        forEach(rows * members, roundRows<S, kPack, kBits>, x, width, members, y, inside, scale);
      },
      x, y, inside);
}

template <typename S, int N>
__global__ void roundGradAll(int64_t items, const S* g, const bool* inside, const float* scale, int64_t width, S* y) {
  const int64_t item = itemOfThread();
  if (item < items) roundGrad<S, N>(g, inside, scale, width, item, y);
}

/// A launch for the gradient of the rounding.
template <typename S>
void roundGradMatrix(const S* g, const bool* inside, const float* scale, int64_t rows, int64_t width, S* y) {
  withPacks<S>(
      width,
      [&](auto n) {
        constexpr int kPack = decltype(n)::value;
        forEach(rows * width / kPack, roundGradAll<S, kPack>, g, inside, scale, width, y);
      },
      g, inside, y);
}

// --- gated product and rotation -------------------------------------------------------------------------------------

template <typename S, int N>
__global__ void swiGluAll(int64_t items, const S* gate, const S* up, S* y) {
  const int64_t item = itemOfThread();
  if (item < items) swiGlu<S, N>(gate, up, item, y);
}
template <typename S>
void swiGluTensor(const S* gate, const S* up, int64_t n, S* y) {
  withPacks<S>(
      n,
      [&](auto k) {
        constexpr int kPack = decltype(k)::value;
        forEach(n / kPack, swiGluAll<S, kPack>, gate, up, y);
      },
      gate, up, y);
}

template <typename S, int N>
__global__ void swiGluGradAll(int64_t items, const S* gate, const S* up, const S* g, S* g_gate, S* g_up) {
  const int64_t item = itemOfThread();
  if (item < items) swiGluGrad<S, N>(gate, up, g, item, g_gate, g_up);
}
template <typename S>
void swiGluGradTensor(const S* gate, const S* up, const S* g, int64_t n, S* g_gate, S* g_up) {
  withPacks<S>(
      n,
      [&](auto k) {
        constexpr int kPack = decltype(k)::value;
        forEach(n / kPack, swiGluGradAll<S, kPack>, gate, up, g, g_gate, g_up);
      },
      gate, up, g, g_gate, g_up);
}

template <typename S, int N>
__global__ void turnAll(int64_t items, const S* x, const float* rotations, int64_t first, int64_t period, int64_t heads,
                        int64_t width, float sign, S* y) {
  const int64_t item = itemOfThread();
  if (item < items) turn<S, N>(x, rotations, first, period, heads, width, sign, item, y);
}
template <typename S>
void turnTensor(const S* x, const float* rotations, int64_t first, int64_t period, int64_t tokens, int64_t heads,
                int64_t width, float sign, S* y) {
  // Packs must hold whole pairs, so the least is two values.
  constexpr int kPair = 2;
  withPacks<S, kPair>(
      width,
      [&](auto n) {
        constexpr int kPack = decltype(n)::value;
        forEach(tokens * heads * width / kPack, turnAll<S, kPack>, x, rotations, first, period, heads, width, sign, y);
      },
      x, y, rotations);
}

/// The table's entries in DecoderLoops' order; null where torch's operators serve.
template <typename S>
constexpr DecoderLoops<S> column() {
  return {"cuda",        nullptr, nullptr,           swiGluTensor<S>,   swiGluGradTensor<S>,
          turnTensor<S>, nullptr, roundMatrix<S, 8>, roundMatrix<S, 4>, roundGradMatrix<S>};
}

}  // namespace

const DeviceLoops* decoderKernels(Launching how) {
  static constexpr DeviceLoops kLoops = {column<float>(), column<Bf16>(), column<Half>(), expandNf4Matrix};
  launching = how;
  return &kLoops;
}

}  // namespace cuda
}  // namespace expc::kernels
