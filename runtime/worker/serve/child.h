#pragma once

#include <sys/types.h>

#include "runtime/channel/packet.h"
#include "runtime/worker/serve/memory_group.h"
#include "runtime/worker/serve/serve.h"

namespace expc::serve {

/// Makes the forked process the rank that `request` describes (Child lists what is set), tells `done` how it ended, and
/// goes on with the next launch that comes from there, until one does not end well or `done` is closed. Without `done`
/// (-1) it ends after the first.
[[noreturn]] void runChild(const plan::LaunchRequest& request, channel::Packet packet, int done, pid_t server,
                           const RankMemory& memory, const Child& child);

/// Binds this process to the cores and memory of a rank's slots; where that may not be done the log says so.
void takePlace(const plan::TrialSpec& spec, unsigned rank);

/// `child`, with an exception that leaves it told as `failed`.
int runGuarded(const plan::LaunchRequest& request, int event_fd, const Child& child);

}  // namespace expc::serve
