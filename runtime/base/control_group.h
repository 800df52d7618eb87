#pragma once

// Finds the control groups of this process, of version 1 or 2, and the limits of each group and of those above it:
// in a container the machine's own numbers do not apply. Creating groups is left to worker/serve/memory_group.h.

#include <cstdint>
#include <string>

namespace expc::base {

/// A control group, as seen from this process.
struct ControlGroup {
  std::string folder;  // "" if none is mounted
  std::string mount;   // the mount of the highest visible group; `folder` is or lies below it
  bool second_version = false;
  bool own = false;  // false: our own group is not visible, and `folder` is one above it
};
/// The group of this process in the tree that has the controller ("memory", "cpu"). `root` stands before /proc and
/// /sys, for tests.
ControlGroup controlGroup(const std::string& controller, const std::string& root = "");

/// The number of CPUs that the group of this process and those above it grant: the smallest limit; 0: no limit.
double cpuLimit(const std::string& root = "");
/// The smallest memory limit, in bytes, of the group and those above it; 0: no limit.
uint64_t memoryLimit(const std::string& root = "");

}  // namespace expc::base
