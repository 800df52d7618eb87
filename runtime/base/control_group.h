#pragma once

// The control groups that this process is in, of version 1 or 2, and what they and those above them limit.

#include <cstdint>
#include <string>

namespace expc::base {

struct ControlGroup {
  std::string folder;  // "" where none is mounted
  std::string mount;   // of the highest group that can be seen, which `folder` is or lies below
  bool second_version = false;
  bool own = false;  // else our own group cannot be seen from here, and `folder` is one above it
};
/// The group of this process that has the controller ("memory", "cpu"). `root` is where /proc and /sys are.
ControlGroup controlGroup(const std::string& controller, const std::string& root = "");

/// CPUs that the group of this process and those above it grant, the fewest; 0: no limit.
double cpuLimit(const std::string& root = "");
/// Bytes of memory, the fewest; 0: no limit.
uint64_t memoryLimit(const std::string& root = "");

}  // namespace expc::base
