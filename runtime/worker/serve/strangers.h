#pragma once

#include <sys/types.h>

#include <set>

namespace expc::serve {

/// Kills and reaps every child of this process that is not in `known`, again and again until there is none (the
/// children of the killed come to a process that is a subreaper), for a few seconds at most. Returns how many were
/// alive.
unsigned killStrangers(const std::set<pid_t>& known);

}  // namespace expc::serve
