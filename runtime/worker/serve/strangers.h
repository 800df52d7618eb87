#pragma once

#include <sys/types.h>

#include <set>
#include <vector>

namespace expc::serve {

struct Strangers {
  unsigned killed = 0;    // how many were alive
  std::vector<int> left;  // those that were killed and are there all the same
};

/// Kills and reaps every child of this process that is not in `known`, again and again until there is none (the
/// children of the killed come to a process that is a subreaper), for a few seconds at most.
Strangers killStrangers(const std::set<pid_t>& known);

}  // namespace expc::serve
