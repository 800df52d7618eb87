#pragma once

namespace expc::profile {

/// Makes the calling thread one of those that feed a device, beside the training thread and autograd's.
void markLaunchingThread();

/// Seconds of processor time that these have taken so far: the calling thread, those of autograd, and those marked.
double launchingSeconds();

}  // namespace expc::profile
