#pragma once

// The data loader's pinning thread.

#include <llvm/Support/Error.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "runtime/worker/data/crew.h"
#include "runtime/worker/data/slots.h"

namespace expc::data {

/// Copies a batch that could be prepared from its slot of `from` to one of `to`, which must have one free; `from` gets
/// its slot back either way.
void copyAcross(Done& done, Slots& from, Slots& to);

/// Takes results from the crew as they arrive, copies them, passes them on in the same order.
class Pinner {
 public:
  static llvm::Expected<std::unique_ptr<Pinner>> start(Crew& crew, Slots& from, Slots& to);
  /// Interrupts the crew.
  ~Pinner();
  /// The next copied result; waits. Errors of the crew come once, at the end.
  llvm::Expected<std::optional<Done>> receive();

 private:
  Pinner(Crew& crew, Slots& from, Slots& to) : crew_(crew), from_(from), to_(to) {}
  void work();

  Crew& crew_;
  Slots& from_;
  Slots& to_;
  std::thread thread_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable copied_;
  std::deque<Done> done_;
  std::optional<std::string> failure_;
  bool over_ = false;
};

}  // namespace expc::data
