#pragma once

// Remembers the state that a process passes on to its children (niceness, limits, cores and so on)
// and restores it. A command can change its parent, and trials after that would not be comparable.

#include <sched.h>
#include <sys/resource.h>

#include <array>
#include <string>

namespace expc::serve {

/// A snapshot of the state that a process passes on and that others can change, as a command does
/// that renices its parent.
class Standing {
 public:
  /// The state of this process now.
  static Standing ofThisProcess();

  /// Restores this process to the snapshot. Only root can lower niceness, and processes are not
  /// moved between control groups. @returns the names of what still differs; "" if nothing does
  std::string restore() const;

 private:
  /// The names of the parts in which `other` differs, joined by commas.
  std::string differences(const Standing& other) const;

  int niceness_ = 0, policy_ = 0, slack_ = 0;
  sched_param scheduling_{};
  long io_ = 0;
  std::array<rlimit, RLIM_NLIMITS> limits_{};
  cpu_set_t cores_{};
  /// Texts from /proc: the score for the kernel's memory killer, and the control groups.
  std::string killer_, groups_;
};

}  // namespace expc::serve
