#pragma once

// What every backend must do, asked in the same words: Gloo on the CPU (conformance_test.cpp), NCCL on GPUs
// (cuda/nccl_test.cpp). Expected values are worked out here from rank and world size alone.

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <sys/mman.h>

#include <atomic>
#include <functional>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "runtime/worker/comm/communicator.h"
#include "runtime/worker/comm/test_ranks.h"

namespace expc::comm::conformance {

/// Gives the rank's communicator the backend under test and says where its tensors live.
using Prepare = std::function<at::Device(Communicator&, const Rendezvous&)>;

/// Collects what does not hold, so that a rank in another process can say it.
class Findings {
 public:
  void expect(bool holds, const std::string& what) {
    if (!holds) text_ += what + "; ";
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// 0, 1, 2, … plus 100 times the rank: every element tells whose it was. Small enough for bf16's 8 bits of mantissa
/// when `elements` is small.
inline at::Tensor numbered(int64_t elements, unsigned rank, at::TensorOptions options) {
  return (at::arange(elements, at::kDouble).remainder(4) + 8.0 * rank).to(options);
}

inline void reductions(Communicator& comm, at::TensorOptions options, int64_t elements, Findings& findings) {
  const unsigned world = comm.worldSize(), rank = comm.rank();
  const std::string name = fmt::format("{} x {}", elements, c10::toString(options.dtype().toScalarType()));
  const auto base = numbered(elements, 0, options);
  const double ranks = world * (world - 1) / 2.0;

  auto sum = numbered(elements, rank, options);
  comm.allReduce(sum, Reduction::Sum);
  findings.expect(at::equal(sum, base * world + 8.0 * ranks), "all-reduce sum of " + name);
  auto most = numbered(elements, rank, options), least = most.clone();
  comm.allReduce(most, Reduction::Max);
  findings.expect(at::equal(most, base + 8.0 * (world - 1)), "all-reduce max of " + name);
  comm.allReduce(least, Reduction::Min);
  findings.expect(at::equal(least, base), "all-reduce min of " + name);

  const auto part = comm.reduceScatter(numbered(elements * world, rank, options), Reduction::Sum);
  const auto whole = numbered(elements * world, 0, options) * world + 8.0 * ranks;
  findings.expect(at::equal(part, whole.narrow(0, static_cast<int64_t>(rank) * elements, elements)),
                  "reduce-scatter of " + name);

  // Two at a time, and other work between start and wait.
  const auto mine = [&](const at::Tensor& tensor) {
    return tensor.narrow(0, static_cast<int64_t>(rank) * elements, elements);
  };
  auto scattered = numbered(elements * world, rank, options), gathered = at::zeros_like(scattered);
  mine(gathered).copy_(numbered(elements, rank, options));
  auto reducing = comm.startReduceScatter(scattered, Reduction::Sum);
  auto gathering = comm.startAllGather(gathered);
  std::vector<at::Tensor> many = {sum.clone(), numbered(3, rank, options), numbered(elements, rank, options)};
  comm.allReduceAll(many, Reduction::Sum, 64);
  findings.expect(at::equal(many[0], sum * world) && at::equal(many[2], sum) &&
                      at::equal(many[1], numbered(3, 0, options) * world + 8.0 * ranks),
                  "all-reduce of many with " + name);
  reducing.wait();
  gathering.wait();
  gathering.wait();  // nothing left
  findings.expect(at::equal(mine(scattered), part), "started reduce-scatter of " + name);
  for (unsigned from = 0; from < world; ++from)
    findings.expect(at::equal(gathered.narrow(0, static_cast<int64_t>(from) * elements, elements),
                              numbered(elements, from, options)),
                    "started all-gather of " + name);
}

inline void movements(Communicator& comm, at::TensorOptions options, int64_t elements, Findings& findings) {
  const unsigned world = comm.worldSize(), rank = comm.rank();
  const std::string name = fmt::format("{} x {}", elements, c10::toString(options.dtype().toScalarType()));
  for (unsigned root = 0; root < world; ++root) {
    auto tensor = numbered(elements, rank, options);
    comm.broadcast(tensor, root);
    findings.expect(at::equal(tensor, numbered(elements, root, options)),
                    fmt::format("broadcast of {} from {}", name, root));
  }
  const auto all = comm.allGather(numbered(elements, rank, options));
  findings.expect(all.size() == world, "all-gather gives one tensor a rank");
  for (unsigned from = 0; from < all.size(); ++from)
    findings.expect(at::equal(all[from], numbered(elements, from, options)),
                    fmt::format("all-gather of {} from {}", name, from));
  std::vector<at::Tensor> many{numbered(elements, rank, options), numbered(3, rank, options.dtype(at::kLong))};
  comm.broadcastAll(many, world - 1, 64);
  findings.expect(at::equal(many[0], numbered(elements, world - 1, options)) &&
                      at::equal(many[1], numbered(3, world - 1, options.dtype(at::kLong))),
                  "broadcast of many with " + name);
}

/// All collectives over `world` ranks. Says "" when everything holds.
inline std::vector<RankOutcome> collectives(unsigned world, const Prepare& prepare) {
  using namespace std::chrono_literals;
  return runRanks(world, 40s, 120s, [&](const Rendezvous& rendezvous) {
    auto comm = Communicator::open(rendezvous);
    const at::Device device = prepare(*comm, rendezvous);
    Findings findings;
    for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong}) {
      for (const int64_t elements : {int64_t{1}, int64_t{7}, int64_t{100'003}}) {
        const auto options = at::TensorOptions(type).device(device);
        reductions(*comm, options, elements, findings);
        movements(*comm, options, elements, findings);
      }
    }
    comm->barrier();
    comm->shutdown();
    return findings.text();
  });
}

/// A collective that the last rank never joins: because it died, or because it sleeps past the timeout.
struct Interruption {
  const char* operation;  // as the error names it
  std::function<void(Communicator&, at::Tensor&)> call;
};

inline std::vector<Interruption> interruptions() {
  return {
      {"an all-reduce", [](Communicator& comm, at::Tensor& tensor) { comm.allReduce(tensor, Reduction::Sum); }},
      {"a broadcast", [](Communicator& comm, at::Tensor& tensor) { comm.broadcast(tensor, comm.worldSize() - 1); }},
      {"an all-gather", [](Communicator& comm, at::Tensor& tensor) { comm.allGather(tensor); }},
      {"a reduce-scatter", [](Communicator& comm, at::Tensor& tensor) { comm.reduceScatter(tensor, Reduction::Sum); }},
      {"an all-gather", [](Communicator& comm, at::Tensor& tensor) { comm.startAllGather(tensor).wait(); }},
      {"a reduce-scatter",
       [](Communicator& comm, at::Tensor& tensor) { comm.startReduceScatter(tensor, Reduction::Sum).wait(); }},
      {"a barrier", [](Communicator& comm, at::Tensor&) { comm.barrier(); }}};
}

/// What the ranks say when the last one leaves before the collective (`dies`) or sleeps through the timeout.
inline std::vector<RankOutcome> interrupted(unsigned world, const Interruption& interruption, bool dies,
                                            const Prepare& prepare) {
  using namespace std::chrono_literals;
  // Ranks that start on a busy machine must meet within it too.
  constexpr auto kTimeout = 10s;
  // The ranks that are through, for the one that sleeps: it need not do so for longer than they wait.
  void* page = mmap(nullptr, sizeof(std::atomic<unsigned>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) abort();
  auto& through = *new (page) std::atomic<unsigned>(0);
  const auto rank = [&](const Rendezvous& rendezvous) -> std::string {
    auto comm = Communicator::open(rendezvous);
    const at::Device device = prepare(*comm, rendezvous);
    auto tensor = at::ones({static_cast<int64_t>(world) * 1000}, at::TensorOptions(at::kFloat).device(device));
    comm->allReduce(tensor, Reduction::Sum);  // connected
    comm->barrier();
    if (rendezvous.rank == world - 1) {
      const auto end = std::chrono::steady_clock::now() + 60s;
      while (!dies && through + 1 < world && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
      _exit(9);
    }
    const auto begin = std::chrono::steady_clock::now();
    try {
      interruption.call(*comm, tensor);
      comm->barrier();  // on a GPU the collective itself is only queued
    } catch (const CommError& error) {
      ++through;
      const bool early = dies || std::chrono::steady_clock::now() - begin > kTimeout - 500ms;
      return early ? error.what() : std::string("before the timeout: ") + error.what();
    }
    ++through;
    return "survived";
  };
  auto outcomes = runRanks(world, dies ? 60s : kTimeout, 90s, rank);
  munmap(page, sizeof(std::atomic<unsigned>));
  return outcomes;
}

/// Rank 0's words for each interruption, in order; all of them at the same time, since they mostly wait.
inline std::vector<std::string> interruptedAll(unsigned world, bool dies, const Prepare& prepare) {
  using namespace std::chrono_literals;
  const auto all = interruptions();
  std::vector<std::string> said;
  for (const auto& outcome : runRanks(static_cast<unsigned>(all.size()), 1s, 120s, [&](const Rendezvous& which) {
         const auto first = interrupted(world, all[which.rank], dies, prepare).front();
         return first.ended ? first.said : std::string("did not end");
       }))
    said.push_back(outcome.said);
  return said;
}

}  // namespace expc::comm::conformance
