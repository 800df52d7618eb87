#pragma once

// Finds the control groups of this process, of version 1 or 2, and the limits of each group and of those above it.
// Creating groups is left to worker/serve/memory_group.h.

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
/// The least memory limit in bytes, of the group and those above it; 0: no limit.
uint64_t memoryLimit(const std::string& root = "");

}  // namespace expc::base
