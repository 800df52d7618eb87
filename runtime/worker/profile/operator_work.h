#pragma once

// A lower bound for what training needs of a device: operations and memory traffic, counted while
// operators are called. With the device's peak rates it gives the shortest possible time of a step
// (roofline).

#include <c10/core/DeviceType.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace expc::profile {

/// The sums over all counted calls.
struct OperatorWork {
  /// Floating-point operations of matrix products, convolutions and fused attention
  /// (operator_flops.h), by the type of the factors.
  std::map<std::string, double> operations;
  /// Bytes that operators must move from and to the device's memory: for each call, what it reads
  /// beyond the size of the cache, and what it writes beyond it.
  double memory_bytes = 0;
};

/// Counts the operators that `run` calls, in all threads, on devices of this type. One observation
/// at a time in a process.
/// @param cache_bytes the size of the device's largest cache
OperatorWork operatorWork(c10::DeviceType device, size_t cache_bytes, const std::function<void()>& run);

}  // namespace expc::profile
