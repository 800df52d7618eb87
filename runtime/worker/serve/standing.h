#pragma once

// Remembers the state that a process hands on to its children (niceness, limits, cores, …) and restores it, since a
// command can change its parent. Child processes use it before each rank.

#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <string>

namespace expc::serve {

/// The state that a process hands on to all that it starts and that others can change, as a command does that renices
/// its parent.
class Standing {
 public:
  static Standing ofThisProcess();

  /// Puts back in this process what differs. "", or the names of what cannot be put back: only root lowers niceness,
  /// and nothing is moved between control groups.
  std::string restore() const;

 private:
  std::string differences(const Standing& other) const;

  int niceness_ = 0, policy_ = 0, slack_ = 0;
  sched_param scheduling_{};
  long io_ = 0;
  std::array<rlimit, RLIM_NLIMITS> limits_{};
  cpu_set_t cores_{};
  std::string killer_, groups_;  // the memory killer's score; as /proc has them
};

}  // namespace expc::serve
