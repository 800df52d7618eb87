// One template per reduction and type. Values are converted in blocks, so that the inner loops
// vectorise and the accumulators stay in cache.

#include "nullgpu/nccl/reduction.h"

#include <nccl.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

#include "nullgpu/nccl/call.h"

namespace nullgpu::nccl {
namespace {

/// The types of elements, in the order of ncclDataType_t.
using Types = std::tuple<int8_t, uint8_t, int32_t, uint32_t, int64_t, uint64_t, __half, float, double, __nv_bfloat16,
                         __nv_fp8_e4m3, __nv_fp8_e5m2>;

/// The accumulator of a type: float for the formats that round.
template <typename T>
using SumOf = std::conditional_t<std::is_arithmetic_v<T>, T, float>;

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
template <typename T>
void reduceBy(auto combine, const std::vector<const std::byte*>& inputs, std::byte* out, size_t count,
              unsigned divisor) {
  using Sum = SumOf<T>;
  std::array<Sum, kBlock> sums;
  for (size_t first = 0; first < count; first += kBlock) {
    const size_t block = std::min(kBlock, count - first);
    const auto* values = reinterpret_cast<const T*>(inputs[0]) + first;
    for (size_t i = 0; i < block; ++i) sums[i] = static_cast<Sum>(values[i]);
    for (size_t rank = 1; rank < inputs.size(); ++rank) {
      values = reinterpret_cast<const T*>(inputs[rank]) + first;
      for (size_t i = 0; i < block; ++i) sums[i] = combine(sums[i], static_cast<Sum>(values[i]));
    }
    auto* results = reinterpret_cast<T*>(out) + first;
    if (divisor != 1)
      for (size_t i = 0; i < block; ++i) sums[i] = static_cast<Sum>(sums[i] / static_cast<Sum>(divisor));
    for (size_t i = 0; i < block; ++i) results[i] = static_cast<T>(sums[i]);
  }
}

/// Chooses the operation. A scaled sum is a sum: its inputs were multiplied before.
template <typename T>
void reduceIn(uint8_t reduction, const std::vector<const std::byte*>& inputs, std::byte* out, size_t count) {
  const auto by = [&](auto combine, size_t divisor = 1) {
    reduceBy<T>(combine, inputs, out, count, unsigned(divisor));
  };
  switch (reduction) {
    case ncclProd:
      return by(kTimes);
    case ncclMax:
      return by(kMost);
    case ncclMin:
      return by(kLeast);
    default:
      return by(kAdd, reduction == ncclAvg ? inputs.size() : 1);
  }
}

/// Calls `body` with a std::type_identity of the type of elements.
void withType(uint8_t type, auto body) {
  [&]<size_t... I>(std::index_sequence<I...>) {
    ((type == I ? body(std::type_identity<std::tuple_element_t<I, Types>>()) : void()), ...);
  }(std::make_index_sequence<std::tuple_size_v<Types>>());
}

}  // namespace

void reduce(uint8_t type, uint8_t reduction, const std::vector<const std::byte*>& inputs, std::byte* out,
            size_t count) {
  withType(type, [&]<typename T>(std::type_identity<T>) { reduceIn<T>(reduction, inputs, out, count); });
}

void multiply(uint8_t type, const std::byte* factor, std::byte* values, size_t count) {
  withType(type, [&]<typename T>(std::type_identity<T>) {
    using Sum = SumOf<T>;
    T by;
    memcpy(&by, factor, sizeof(by));
    auto* each = reinterpret_cast<T*>(values);
    for (size_t i = 0; i < count; ++i)
      each[i] = static_cast<T>(kTimes(static_cast<Sum>(each[i]), static_cast<Sum>(by)));
  });
}

}  // namespace nullgpu::nccl
