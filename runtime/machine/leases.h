#pragma once

// Leases: which run has which devices and cores of this machine, so that two engines do not measure beside each other
// by accident. They are advisory file locks in one folder for all users.

#include <string>
#include <vector>

#include "runtime/base/descriptor.h"
#include "runtime/base/llvm.h"
#include "runtime/machine/machine.h"

namespace expc::machine {

/// The folder of locks: EXPC_DEVICE_LOCKS, else one that all engines of the machine share; "" if the variable is
/// "none".
std::string leaseFolder();

/// Locks on GPUs and cores, one file each. The kernel releases them with this object or with its process, however that
/// ends, so a killed run leaves no stale lock.
class DeviceLeases {
 public:
  DeviceLeases() = default;
  /// Locks all GPUs and cores of `slots`, or nothing. `owner` is shown to others: "expc run of precision, results in
  /// /r". Error: some are taken; it names them and their owners. If the folder cannot be used at all, that is only a
  /// note, and nothing is leased; "" for `folder` leases nothing either.
  static Expected<DeviceLeases> take(const std::vector<Slot>& slots, const std::string& folder,
                                     const std::string& owner, std::vector<std::string>& notes);

  /// Notes in the leases of the slot a process that was killed and does not die. As long as it is there, even after
  /// this process's end, take() refuses these devices and names it.
  void block(const Slot& slot, int pid) const;

 private:
  struct Lock {
    std::string name;  // "GPU-…", "core-3"
    Descriptor fd;
  };
  std::vector<Lock> locks_;
};

/// Moves GPUs that nobody has leased before those that are leased, else keeping the order, so that `--devices N` gets
/// free ones.
void putFreeFirst(std::vector<Gpu>& gpus, const std::string& folder);

}  // namespace expc::machine
