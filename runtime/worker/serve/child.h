#pragma once

#include <sys/types.h>

#include "runtime/channel/packet.h"
#include "runtime/worker/serve/memory_group.h"
#include "runtime/worker/serve/serve.h"

namespace expc::serve {

/// Makes the forked process the rank that `request` describes (Child lists what is set). Where `packet` came with a
/// channel it says there that the rank ended well, and goes on with the next launch from there, until one does not end
/// well or the channel is closed; else it ends after the first.
[[noreturn]] void runChild(const plan::LaunchRequest& request, channel::Packet packet, pid_t server,
                           const RankMemory& memory, const Child& child);

/// Seconds since the machine was started (CLOCK_BOOTTIME).
double bootSeconds();
/// What is told of a launch whose process has ended.
plan::LaunchReply endOf(uint64_t launch, pid_t pid, int status, double at);

/// Binds this process to the cores and memory of a rank's slots; where that may not be done the log says so.
void takePlace(const plan::TrialSpec& spec, unsigned rank);

/// `child`, with an exception that leaves it told as `failed`.
int runGuarded(const plan::LaunchRequest& request, int event_fd, const Child& child);

}  // namespace expc::serve
