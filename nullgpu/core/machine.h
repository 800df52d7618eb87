#pragma once

#include <sys/types.h>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/machine_file.h"

namespace nullgpu {

/// The cards that all processes of a file share: what cards.h offers, for a file of the caller's choice. Cards are
/// numbers of the machine.
class Machine {
 public:
  /// As MachineFile.
  Machine(const std::string& file, const Description& description) : file_(file, description) {}

  CardState state(unsigned card);
  bool reserve(unsigned card, uint64_t bytes);
  void release(unsigned card, uint64_t bytes);
  void worked(unsigned card, uint64_t nanoseconds);
  void lose(unsigned card);

 private:
  SharedCard& at(unsigned card) { return file_.shared().cards.at(card); }
  SharedProcess* own();
  SharedProcess& enter();
  void reclaim();
  uint64_t used(unsigned card) const;

  MachineFile file_;
};

}  // namespace nullgpu
