#pragma once

// c10d behind Communicator. Heavy: only for the .cpp files of comm.

#include <torch/csrc/distributed/c10d/ProcessGroup.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "runtime/worker/comm/communicator.h"

namespace expc::comm {

std::string firstLine(const char* text);

struct Group {
  Rendezvous rendezvous;
  c10::intrusive_ptr<c10d::Store> store;
  c10::intrusive_ptr<c10d::ProcessGroup> processes;
};

/// The CPU's backend (gloo.cpp).
c10::intrusive_ptr<c10d::Backend> makeGloo(const c10::intrusive_ptr<c10d::Store>& store, const Rendezvous& rendezvous);

/// Runs `body` and turns whatever it throws into a CommError that names the operation and what to look at.
template <typename Body>
auto guarded(const Rendezvous& rendezvous, const char* operation, Body body) {
  try {
    return body();
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    throw CommError("rank " + std::to_string(rendezvous.rank) + " of " + std::to_string(rendezvous.world_size) +
                    " lost the others in " + operation + ": " + firstLine(error.what()) +
                    " (another rank died, hangs or cannot be reached; its log says more)");
  }
}

}  // namespace expc::comm
