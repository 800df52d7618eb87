#pragma once

// The meaning of torch's exceptions for a trial: out of memory, a failed device, lost ranks, or
// something else. A trial that runs out of memory is infeasible; other failures may be repeated.

#include <exception>
#include <string>

namespace expc::comm {

/// The kinds of failures that a trial distinguishes.
enum class Failure {
  DeviceMemory,  // the device's memory ran out, as CUDA, cuBLAS, cuDNN or NCCL say it
  HostMemory,
  Device,      // any other error of the device; work queued there is lost
  OtherRanks,  // a rank died, hangs or cannot be reached
  Other,
};

/// The kind of failure that an exception stands for; Other if nothing is known of it.
Failure failureOf(const std::exception& error);

/// The first line of its message, and behind it the last line of NCCL's own message if torch has
/// appended one. The rest is for the log.
std::string firstLineOf(const std::exception& error);

}  // namespace expc::comm
