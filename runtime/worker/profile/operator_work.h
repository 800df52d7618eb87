#pragma once

// What training needs of a device at least, counted while its operators are called.

#include <c10/core/DeviceType.h>

#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace expc::profile {

struct OperatorWork {
  /// Floating-point operations of matrix products, convolutions and fused attention (operator_flops.h) by the type of
  /// what is multiplied.
  std::map<std::string, double> operations;
  /// Bytes that operators must bring from the device's memory and take there: of what each reads, and of what it
  /// writes, as much as the cache cannot hold.
  double memory_bytes = 0;
};

/// What `run` calls, in all threads, of operators on such devices, whose largest cache has so many bytes. One at a time
/// in a process. An operator that another one calls to do its own work is not counted again.
OperatorWork operatorWork(c10::DeviceType device, size_t cache_bytes, const std::function<void()>& run);

}  // namespace expc::profile
