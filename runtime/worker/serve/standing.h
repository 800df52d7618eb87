#pragma once

#include <string>
#include <vector>

namespace expc::serve {

/// What a process hands on to all that it starts and others can change in it, as a command does that renices its
/// parent: niceness, scheduling, priority of its I/O, limits, cores, the kernel's memory killer, control groups.
class Standing {
 public:
  static Standing ofThisProcess();

  /// Puts back in this process what differs. "", or the names of what cannot be put back: only root lowers niceness,
  /// and nothing is moved between control groups.
  std::string restore() const;

 private:
  std::vector<std::string> values_;  // bytes, one for each trait
};

}  // namespace expc::serve
