#pragma once

// The cards as all processes of the machine see them: those that NULLGPU_MACHINE names share one file, so that NVML in
// one process tells what another does.

#include <sys/types.h>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/machine_file.h"

namespace nullgpu {

/// The cards that all processes of a file share. Cards are numbers of the machine.
class Machine {
 public:
  /// As MachineFile.
  Machine(const std::string& file, const Description& description) : file_(file, description) {}

  CardState state(unsigned card);
  /// This process takes `bytes` of a card; false when it has not so many left. Gives them back with release().
  bool reserve(unsigned card, uint64_t bytes);
  void release(unsigned card, uint64_t bytes);
  /// The card worked for so long.
  void worked(unsigned card, uint64_t nanoseconds);
  /// The card is lost for all processes of the machine.
  void lose(unsigned card);

 private:
  SharedCard& at(unsigned card) { return file_.shared().cards.at(card); }
  SharedProcess* own();
  SharedProcess& enter();
  void reclaim();
  uint64_t used(unsigned card) const;

  MachineFile file_;
};

/// That of this process.
Machine& machine();

}  // namespace nullgpu
