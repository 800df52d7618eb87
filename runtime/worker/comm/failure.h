#pragma once

// What an exception of torch means for a trial. Some have a type or a code, most are known by their words alone.

#include <exception>
#include <string>

namespace expc::comm {

enum class Failure {
  DeviceMemory,  // of the device: CUDA's, cuBLAS's, cuDNN's and NCCL's ways to say it
  HostMemory,
  Device,      // any other error of the device itself: what was queued there is lost
  OtherRanks,  // a rank died, hangs or cannot be reached
  Other,
};

Failure failureOf(const std::exception& error);

/// Its first line, and the last one of what NCCL itself says, which torch puts behind it. The rest is for the log.
std::string firstLineOf(const std::exception& error);

}  // namespace expc::comm
