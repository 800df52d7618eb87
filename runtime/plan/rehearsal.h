#pragma once

// What a rehearsed trial tells: a few steps of the real worker on null cards, counted. Nothing in it is a measurement.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace expc::plan {

/// Calls of one kind and the bytes that they moved.
struct Traffic {
  uint64_t calls = 0, bytes = 0;
};

/// What one rank took and did. Counts, bytes and operations are of all counted steps together.
struct RehearsedRank {
  uint64_t host_memory = 0;  // bytes, most resident since its start
  /// Bytes, most in the counted steps as torch's allocator counts them; of several devices, of the one with most.
  uint64_t device_memory_allocated = 0, device_memory_reserved = 0;
  uint64_t launches = 0;          // of kernels, graphs counted by what they hold
  uint64_t synchronisations = 0;  // calls in which the host waits for a device
  Traffic to_device, from_device, within_devices;
  std::map<std::string, Traffic> collectives;  // by name: "all_reduce"; bytes of the rank's own buffer
  double host_seconds = 0;                     // processor time of the threads that launch
  /// Floating-point operations of matrix products, convolutions and attention by the type of what they read: "bf16".
  std::map<std::string, double> operations;
  double memory_bytes = 0;  // that operators read and write and no cache of the device can hold
};

struct Rehearsed {
  unsigned steps = 1;  // that were counted
  std::vector<RehearsedRank> ranks;
};

}  // namespace expc::plan
