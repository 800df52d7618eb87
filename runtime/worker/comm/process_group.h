#pragma once

// c10d behind Communicator. Heavy: only for the .cpp files of comm.

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/comm/failure.h"
#include "runtime/worker/comm/watch.h"

namespace expc::comm {

struct Group {
  Rendezvous rendezvous;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> processes;
  OnLost on_lost;
  Queued queued;                 // graphs with collectives in them
  std::unique_ptr<Watch> watch;  // where collectives are queued on a GPU
};

/// The CPU's backend (gloo.cpp).
c10::intrusive_ptr<c10d::Backend> makeGloo(const c10::intrusive_ptr<c10d::Store>& store, const Rendezvous& rendezvous);

/// Runs `body` and turns what it throws into a CommError that names the operation and what to look at. Memory that runs
/// out here and a device that fails stay what they are.
template <typename Body>
auto guarded(const Rendezvous& rendezvous, const char* operation, Body body) {
  try {
    return body();
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    const Failure failure = failureOf(error);
    if (failure != Failure::OtherRanks && failure != Failure::Other) throw;
    throw CommError(lostMessage(rendezvous, operation, firstLineOf(error)));
  }
}

/// The same, under the group's watch: one that does not come back, as NCCL's set-up does where a rank is gone, is
/// reported too.
template <typename Body>
auto guarded(Group& group, const char* operation, Body body) {
  const Watch::Operation running(group.watch.get(), operation);
  return guarded(group.rendezvous, operation, std::move(body));
}

}  // namespace expc::comm
