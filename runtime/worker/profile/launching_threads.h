#pragma once

// The host's cost of feeding a GPU: the processor time of the threads that launch work. If it is
// close to the wall time, the host limits the device.

namespace expc::profile {

/// Marks the calling thread as one that feeds a device. The training thread and autograd's threads
/// count without it. Changes the thread's name.
void markLaunchingThread();

/// Seconds of processor time so far of the calling thread, autograd's threads, and those marked.
double launchingSeconds();

}  // namespace expc::profile
