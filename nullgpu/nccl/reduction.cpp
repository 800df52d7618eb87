// One template per reduction and type. Values are converted in blocks, so that the inner loops
// vectorise and the accumulators stay in cache.

#include "nullgpu/nccl/reduction.h"

#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <type_traits>

#include "nullgpu/nccl/call.h"

namespace nullgpu::nccl {
namespace {

/// A format: the type in memory and the type of the accumulator. Rounded formats accumulate in
/// float.
template <typename T>
struct Exact {
  using Stored = T;
  using Sum = T;
};
template <typename T>
struct Rounded {
  using Stored = T;
  using Sum = float;
};

/// Integers wrap around as in NCCL. Signed overflow would be undefined, so they are computed
/// unsigned.
template <typename T>
using Wrapping = typename std::conditional_t<std::is_integral_v<T>, std::make_unsigned<T>, std::type_identity<T>>::type;

constexpr auto kAdd = []<typename T>(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) + static_cast<Wrapping<T>>(b));
};
constexpr auto kTimes = []<typename T>(T a, T b) {
  return static_cast<T>(static_cast<Wrapping<T>>(a) * static_cast<Wrapping<T>>(b));
};
constexpr auto kMost = [](auto a, auto b) { return a < b ? b : a; };
constexpr auto kLeast = [](auto a, auto b) { return b < a ? b : a; };

/// Elements per block; at most 4 KiB of accumulators.
constexpr size_t kBlock = 512;

/// Combines the inputs in the order of ranks, block by block.
template <typename Format>
void reduceBy(auto combine, const std::vector<const std::byte*>& inputs, std::byte* out, size_t count,
              unsigned divisor = 1) {
  using Stored = typename Format::Stored;
  using Sum = typename Format::Sum;
  std::array<Sum, kBlock> sums;
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t block = std::min(kBlock, count - first);
    const auto* values = reinterpret_cast<const Stored*>(inputs[0]) + first;
    for (size_t i = 0; i < block; ++i) sums[i] = static_cast<Sum>(values[i]);
    for (size_t rank = 1; rank < inputs.size(); ++rank) {
      values = reinterpret_cast<const Stored*>(inputs[rank]) + first;
      for (size_t i = 0; i < block; ++i) sums[i] = combine(sums[i], static_cast<Sum>(values[i]));
    }
    auto* results = reinterpret_cast<Stored*>(out) + first;
    if (divisor != 1)
      for (size_t i = 0; i < block; ++i) sums[i] = static_cast<Sum>(sums[i] / static_cast<Sum>(divisor));
    for (size_t i = 0; i < block; ++i) results[i] = static_cast<Stored>(sums[i]);
  }
}

/// Chooses the operation. A scaled sum is a sum: its inputs were multiplied before.
template <typename Format>
void reduceIn(uint8_t reduction, const std::vector<const std::byte*>& inputs, std::byte* out, size_t count) {
  switch (reduction) {
    case ncclProd:
      return reduceBy<Format>(kTimes, inputs, out, count);
    case ncclMax:
      return reduceBy<Format>(kMost, inputs, out, count);
    case ncclMin:
      return reduceBy<Format>(kLeast, inputs, out, count);
    case ncclAvg:
      return reduceBy<Format>(kAdd, inputs, out, count, static_cast<unsigned>(inputs.size()));
    default:
      return reduceBy<Format>(kAdd, inputs, out, count);
  }
}

/// Calls `body` with an object of the format of `type`.
template <typename Body>
void withFormat(uint8_t type, Body body) {
  switch (type) {
    case ncclInt8:
      return body(Exact<int8_t>());
    case ncclUint8:
      return body(Exact<uint8_t>());
    case ncclInt32:
      return body(Exact<int32_t>());
    case ncclUint32:
      return body(Exact<uint32_t>());
    case ncclInt64:
      return body(Exact<int64_t>());
    case ncclUint64:
      return body(Exact<uint64_t>());
    case ncclFloat16:
      return body(Rounded<__half>());
    case ncclFloat32:
      return body(Exact<float>());
    case ncclFloat64:
      return body(Exact<double>());
    case ncclBfloat16:
      return body(Rounded<__nv_bfloat16>());
    case ncclFloat8e4m3:
      return body(Rounded<__nv_fp8_e4m3>());
    default:
      return body(Rounded<__nv_fp8_e5m2>());
  }
}

}  // namespace

void reduce(uint8_t type, uint8_t reduction, const std::vector<const std::byte*>& inputs, std::byte* out,
            size_t count) {
  withFormat(type, [&](auto format) { reduceIn<decltype(format)>(reduction, inputs, out, count); });
}

void multiply(uint8_t type, const std::byte* factor, std::byte* values, size_t count) {
  withFormat(type, [&](auto format) {
    using Stored = typename decltype(format)::Stored;
    using Sum = typename decltype(format)::Sum;
    Stored by;
    memcpy(&by, factor, sizeof(by));
    auto* each = reinterpret_cast<Stored*>(values);
    for (size_t i = 0; i < count; ++i)
      each[i] = static_cast<Stored>(kTimes(static_cast<Sum>(each[i]), static_cast<Sum>(by)));
  });
}

}  // namespace nullgpu::nccl
