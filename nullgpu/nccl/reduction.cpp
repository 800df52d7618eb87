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

/// A type of values in memory, and the type in which they are added up. Whole numbers wrap, which only unsigned ones
/// may.
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

constexpr size_t kBlock = 512;

template <typename Format>
void reduceBy(auto combine, const std::vector<const std::byte*>& inputs, std::byte* out, size_t count,
              unsigned divisor) {
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

/// In the order of ncclDataType_t.
using Formats = std::tuple<Exact<int8_t>, Exact<uint8_t>, Exact<int32_t>, Exact<uint32_t>, Exact<int64_t>,
                           Exact<uint64_t>, Rounded<__half>, Exact<float>, Exact<double>, Rounded<__nv_bfloat16>,
                           Rounded<__nv_fp8_e4m3>, Rounded<__nv_fp8_e5m2>>;
static_assert(std::tuple_size_v<Formats> == ncclNumTypes);

/// Calls `body` with the format of `type`.
void withFormat(uint8_t type, auto body) {
  [&]<size_t... Each>(std::index_sequence<Each...>) {
    ((type == Each ? body(std::tuple_element_t<Each, Formats>()) : void()), ...);
  }(std::make_index_sequence<ncclNumTypes>());
}

}  // namespace

void reduce(uint8_t type, uint8_t reduction, const std::vector<const std::byte*>& inputs, std::byte* out,
            size_t count) {
  withFormat(type, [&](auto format) {
    const auto by = [&](auto combine, unsigned divisor = 1) {
      reduceBy<decltype(format)>(combine, inputs, out, count, divisor);
    };
    if (reduction == ncclProd) return by(kTimes);
    if (reduction == ncclMax) return by(kMost);
    if (reduction == ncclMin) return by(kLeast);
    by(kAdd, reduction == ncclAvg ? unsigned(inputs.size()) : 1);
  });
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
