#pragma once

// The workers of the data loader for one epoch: each with a queue of its own, one queue for all results. Threads or
// processes, behind one face.

#include <llvm/Support/Error.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/worker/data/batch_plan.h"
#include "runtime/worker/data/item_writer.h"
#include "runtime/worker/data/slots.h"

namespace expc::data {

/// A batch to be prepared in a slot.
struct Job {
  uint64_t ticket = 0;  // position in the order of delivery
  size_t slot = 0;
  PlannedBatch batch;
};

/// A job that came back.
struct Done {
  Job job;
  int64_t skipped = 0;  // images of it that could not be decoded
  std::string error;    // why it could not be prepared; empty when it could
};

struct CrewOptions {
  unsigned workers = 1;
  const Images* images = nullptr;  // these three must outlive the crew
  const Preparation* preparation = nullptr;
  Slots* slots = nullptr;  // of sharedMemory() for processes
  OnCorrupt on_corrupt = OnCorrupt::Fail;
};

/// Made by one thread and used by at most two: one sends, one receives.
class Crew {
 public:
  /// Stops: waits only for the item that each worker has in hand.
  virtual ~Crew() = default;
  /// All jobs of a crew belong to one epoch.
  virtual llvm::Error send(unsigned worker, Job job) = 0;
  /// Waits for the next result of any worker; nothing after interrupt(). An error when a worker died.
  virtual llvm::Expected<std::optional<Done>> receive() = 0;
  /// From any thread: makes a receive() that waits, and every later one, return nothing.
  virtual void interrupt() = 0;
};

llvm::Expected<std::unique_ptr<Crew>> startThreads(const CrewOptions& options);

/// Processes, forked by the calling thread, that work for `order`'s epoch. Forking a process that has threads is safe
/// here because a child calls nothing that another thread could have locked: it computes in its own memory and in the
/// shared slots, reads images by files or maps of its own, talks over sockets, and leaves by _exit. malloc, which it
/// needs, is put right by the C library's fork. It never touches torch, a device or a log.
llvm::Expected<std::unique_ptr<Crew>> startProcesses(const CrewOptions& options, Order order);

/// Prepares `count` items of `order` from `begin`. Returns why it failed, or nothing; stops early when `abandoned`.
std::string fillBatch(const ItemWriter& writer, const std::vector<int64_t>& order, int64_t begin, int64_t count,
                      char* images, int64_t* labels, const std::atomic<bool>& abandoned, std::vector<uint8_t>& scratch,
                      int64_t& skipped);

}  // namespace expc::data
