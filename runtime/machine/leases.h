#pragma once

// Who has which devices and cores of this machine: two engines with two results folders do not measure beside each
// other by accident.

#include <llvm/Support/Error.h>

#include <string>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/machine/machine.h"

namespace expc::machine {

/// The folder of locks that all engines of a machine share, unless EXPC_DEVICE_LOCKS names another one; "" where it is
/// "none".
std::string leaseFolder();

/// Locks on GPUs and cores, one file each, which end with this object and with its process, however that ends.
class DeviceLeases {
 public:
  DeviceLeases() = default;
  /// Takes all that `slots` have, or nothing. `owner` is what others are told: "expc run of precision, results in /r".
  /// The error names devices and owners; a folder in
  /// which nothing can be locked is a note instead, and so is none.
  static llvm::Expected<DeviceLeases> take(const std::vector<Slot>& slots, const std::string& folder,
                                           const std::string& owner, std::vector<std::string>& notes);

  /// Notes a process that was killed and does not die: whoever takes one of the slot's devices while it is there, this
  /// process's life over or not, is refused with its number.
  void block(const Slot& slot, int pid) const;

 private:
  struct Lock {
    std::string name;  // "GPU-…", "core-3"
    base::Descriptor fd;
  };
  std::vector<Lock> locks_;
};

/// GPUs that nobody has before those that somebody has, else in the order they were: who asks for some of them gets
/// free ones.
void putFreeFirst(std::vector<Gpu>& gpus, const std::string& folder);

}  // namespace expc::machine
