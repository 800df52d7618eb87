#pragma once

#include <llvm/Support/Error.h>

#include <functional>

#include "runtime/worker/comm/communicator.h"

namespace expc::comm {

/// Asks the others to do their part of a collective that the caller does next.
using CallOthers = std::function<void()>;

/// Runs `work` on rank `root`, for as long as it takes, while the others wait on the host: no collective is under way
/// whose timeout could run out. The root says all the while that it lives, and a rank that has heard nothing for the
/// length of the timeout throws CommError, as it does when the root's work fails or throws. What the work returns is
/// returned on the root. `work` may call the others to collectives; each call makes them run `together` once. Every
/// rank calls it.
llvm::Error whileOneWorks(
    Communicator& communicator, unsigned root, const std::function<llvm::Error(const CallOthers& call_others)>& work,
    const std::function<void()>& together = [] {});

}  // namespace expc::comm
