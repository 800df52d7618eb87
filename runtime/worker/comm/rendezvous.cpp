// Reads a launcher's environment variables strictly: one that is set without the others, or out of
// range, is an error, because a rank with a wrong number would hang until the timeout.

#include "runtime/worker/comm/rendezvous.h"

#include <llvm/ADT/StringExtras.h>

#include <cstdlib>

#include "runtime/base/failure.h"
#include "runtime/base/format.h"
#include "runtime/base/llvm.h"

namespace expc::comm {
namespace {

/// The error for a variable with a wrong value.
Error badVariable(const char* name, const char* value, const std::string& wanted) {
  return failure("environment variable {} is '{}', it must be {}: the launcher of the ranks sets it", name, value,
                 wanted);
}

/// Reads a required number from `least` to `most` into `into`.
template <typename Number>
Error readNumber(const char* name, uint64_t least, uint64_t most, Number& into) {
  const char* text = std::getenv(name);
  if (!text)
    return failure(
        "environment variable {} is not set: start the ranks with a launcher that sets RANK, WORLD_SIZE, LOCAL_RANK, "
        "MASTER_ADDR and MASTER_PORT, or set none of them to run one rank alone",
        name);
  if (llvm::to_integer(StringRef(text), into, 10) && into >= least && into <= most) return Error::success();
  return badVariable(name, text, fmt::format("a whole number from {} to {}", least, most));
}

}  // namespace

Expected<Rendezvous> rendezvousFromEnvironment() {
  Rendezvous result;
  if (std::getenv("EXPC_COMM_TIMEOUT_S")) {
    uint64_t seconds = 0;
    TRY(readNumber("EXPC_COMM_TIMEOUT_S", 1, 1'000'000, seconds));
    result.timeout = std::chrono::seconds(seconds);
  }
  bool any = false;
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"})
    any |= std::getenv(name) != nullptr;
  // Without any variable nobody launched ranks: this process is alone. With some, all are required.
  if (!any) return result;

  // The order matters: the limits of ranks depend on their number.
  TRY(readNumber("WORLD_SIZE", 1, 1'000'000, result.world_size));
  TRY(readNumber("RANK", 0, result.world_size - 1, result.rank));
  TRY(readNumber("LOCAL_RANK", 0, result.world_size - 1, result.local_rank));
  TRY(readNumber("MASTER_PORT", result.world_size == 1 ? 0 : 1, 65535, result.master_port));
  const char* address = std::getenv("MASTER_ADDR");
  if (!address || !*address)
    return badVariable("MASTER_ADDR", address ? address : "", "the host name or address of rank 0");
  result.master_address = address;
  return result;
}

}  // namespace expc::comm
