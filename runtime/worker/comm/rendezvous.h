#pragma once

// Where a rank meets the others: the variables that torchrun-like launchers set.

#include <llvm/Support/Error.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace expc::comm {

struct Rendezvous {
  unsigned rank = 0;
  unsigned world_size = 1;
  unsigned local_rank = 0;
  std::string master_address = "127.0.0.1";
  uint16_t master_port = 0;
  /// Longest wait for another rank: in the rendezvous and in every collective.
  std::chrono::milliseconds timeout = std::chrono::minutes(5);
};

/// Reads RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT and, if set, EXPC_COMM_TIMEOUT_S (seconds, above zero).
/// Without any of the first five it is one rank alone. The error names the variable and what it must be.
llvm::Expected<Rendezvous> rendezvousFromEnvironment();

}  // namespace expc::comm
