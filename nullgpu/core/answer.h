#pragma once

// The answer of a function of cuBLAS, cuSOLVER or cuSPARSE that nobody wrote by hand. stubs.py takes
// its parameters from NVIDIA's header and passes them here; their types and the function's name say
// what it does for its caller: it makes an object, frees one, tells a size, or launches a kernel.
// Results are not computed. Integers of a result are 0, which means success, no entries, or no error.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "nullgpu/core/health.h"
#include "nullgpu/core/memory.h"
#include "nullgpu/core/stream.h"

namespace nullgpu {

/// The target of every handle and descriptor of these libraries. A handle's stream is used, and
/// nothing of a descriptor.
struct Handle {
  cudaStream_t stream = nullptr;
};

/// Bytes of workspace of every function that has one. Not 0, so that callers allocate it as they do
/// for NVIDIA's; NVIDIA's sizes are not known.
inline constexpr size_t kWorkspace = 1024;

/// Whether the name of a function contains one of `parts`.
constexpr bool names(std::string_view function, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (function.find(part) != std::string_view::npos) return true;
  return false;
}

/// Collects what the types of a call's parameters say. Numbers that are passed by value come before
/// the last, which is that of a batch.
struct Parameters {
  std::string_view function;
  uint64_t last = 1;
  std::vector<int*> results;  // integers on a card

  template <typename Value>
  void see(Value value) {
    if constexpr (std::is_integral_v<Value>) last = uint64_t(value);
    if constexpr (!std::is_pointer_v<Value>)
      return;
    else {
      using Target = std::remove_pointer_t<Value>;
      if constexpr ((std::is_integral_v<Target> || std::is_enum_v<Target>) && !std::is_const_v<Target>) {
        if (!value) return;
        if (!cardOf(value))
          *value = Target(sizeof(Target) == sizeof(size_t) && std::is_unsigned_v<Target> ? kWorkspace
                          : names(function, {"ufferSize"})                               ? kWorkspace
                                                                                         : 0);
        else if constexpr (std::is_same_v<Target, int>)
          results.push_back(value);
      }
    }
  }
};

/// Whether `Value` is where a new object is stored: a pointer to a pointer to a class.
template <typename Value>
inline constexpr bool kMakes = std::is_pointer_v<Value> && std::is_pointer_v<std::remove_pointer_t<Value>> &&
                               std::is_class_v<std::remove_pointer_t<std::remove_pointer_t<Value>>>;

/// Sets integers on a card to 0 when the stream gets there, as many as a batch has.
inline bool clear(const Parameters& parameters) {
  for (int* result : parameters.results) {
    const Allocation around = allocationOf(result);
    if (!around.begin) continue;
    const auto left = size_t(around.begin + around.bytes - reinterpret_cast<char*>(result)) / sizeof(int);
    setCard(result, 0, sizeof(int) * std::min(left, names(parameters.function, {"Batched"}) ? parameters.last : 1));
  }
  return true;
}

/// Does what a function does for its caller. `function` has static storage. Returns 0 for success, 1 for
/// what has no handle or cannot get one, and `failed` if the launch fails.
template <typename Status, typename First, typename... Rest>
Status answer(std::string_view function, Status failed, First first, Rest... rest) {
  if constexpr (kMakes<First>) {
    if (!first || health() != cudaSuccess) return Status(1);
    *first = reinterpret_cast<std::remove_pointer_t<First>>(new Handle);
    return Status(0);
  } else if constexpr (std::is_pointer_v<First>) {
    if (!first) return Status(1);
    auto* handle = reinterpret_cast<Handle*>(const_cast<std::remove_const_t<std::remove_pointer_t<First>>*>(first));
    if (names(function, {"estroy"})) return delete handle, Status(0);
    if constexpr (sizeof...(Rest) == 1 && (std::is_same_v<Rest, cudaStream_t> && ...)) {
      handle->stream = std::get<0>(std::tuple(rest...));
      return Status(0);
    }
    Parameters parameters{function, 1, {}};
    (parameters.see(rest), ...);
    if (names(function, {"Set", "Get", "Size", "_zeroPivot"})) return Status(0);
    return launch(handle->stream, function, [parameters] { return clear(parameters); }) ? failed : Status(0);
  } else {
    Parameters parameters{function, 1, {}};
    (parameters.see(rest), ...);
    return Status(0);
  }
}

}  // namespace nullgpu
