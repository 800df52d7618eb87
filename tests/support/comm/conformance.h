#pragma once

// What every backend must do, asked in the same words: Gloo on the CPU (conformance_test.cpp), NCCL on GPUs
// (cuda/nccl_test.cpp). Expected values are worked out here from rank and world size alone.

#include <ATen/ATen.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/base/format.h"
#include "runtime/worker/comm/communicator.h"
#include "tests/support/comm/ranks.h"

namespace expc::comm::conformance {

/// Where a rank's tensors live.
struct Place {
  at::Device device;
  /// False on a null card, whose kernels do nothing: then only what the backend itself moves and reduces is looked at.
  bool computes = true;

  Place(at::Device device, bool computes = true) : device(device), computes(computes) {}
};

/// Gives the rank's communicator the backend under test.
using Prepare = std::function<Place(Communicator&, const Rendezvous&)>;

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

/// 0, 1, 2, 3, 0, … plus 8 times the rank, on the CPU: every element tells whose it was, and sums fit into bf16's 8
/// bits of mantissa.
inline at::Tensor numbered(int64_t elements, unsigned rank, at::ScalarType type) {
  return (at::arange(elements, at::kDouble).remainder(4) + 8.0 * rank).to(type);
}

/// Values are made and compared on the CPU, so that a card has only to move them.
struct Values {
  Place place;
  at::ScalarType type;

  at::Tensor of(int64_t elements, unsigned rank) const { return numbered(elements, rank, type); }
  at::Tensor there(const at::Tensor& values) const {
    return values.to(place.device, /*non_blocking=*/false, /*copy=*/true);
  }
  at::Tensor there(int64_t elements, unsigned rank) const { return there(of(elements, rank)); }
};

inline bool holds(const at::Tensor& tensor, const at::Tensor& expected) { return at::equal(tensor.cpu(), expected); }

inline void reductions(Communicator& comm, const Values& values, int64_t elements, Findings& findings) {
  const unsigned world = comm.worldSize(), rank = comm.rank();
  const std::string name = fmt::format("{} x {}", elements, c10::toString(values.type));
  const auto base = values.of(elements, 0);
  const double ranks = world * (world - 1) / 2.0;
  const auto total = base * world + 8.0 * ranks;

  auto sum = values.there(elements, rank);
  comm.allReduce(sum, Reduction::Sum);
  findings.expect(holds(sum, total), "all-reduce sum of " + name);
  auto most = values.there(elements, rank);
  comm.allReduce(most, Reduction::Max);
  findings.expect(holds(most, base + 8.0 * (world - 1)), "all-reduce max of " + name);

  const auto mine = [&](const at::Tensor& tensor) { return tensor.narrow(0, int64_t(rank) * elements, elements); };
  const auto expected_part = mine(values.of(elements * world, 0) * world + 8.0 * ranks);

  // Two at a time, and other work between start and wait.
  auto gathered = at::zeros({elements * world}, values.type);
  mine(gathered).copy_(values.of(elements, rank));
  auto scattered = values.there(elements * world, rank);
  gathered = values.there(gathered);
  auto reducing = comm.startReduceScatter(scattered, Reduction::Sum);
  auto gathering = comm.startAllGather(gathered);
  std::vector<at::Tensor> many = {values.there(total), values.there(3, rank), values.there(elements, rank)};
  comm.allReduceAll(many, Reduction::Sum, 64);
  if (values.place.computes || world == 1)  // tensors are packed by a kernel
    findings.expect(
        holds(many[0], total * world) && holds(many[2], total) && holds(many[1], values.of(3, 0) * world + 8.0 * ranks),
        "all-reduce of many with " + name);
  reducing.wait();
  gathering.wait();
  gathering.wait();  // nothing left
  findings.expect(holds(mine(scattered), expected_part), "started reduce-scatter of " + name);
  for (unsigned from = 0; from < world; ++from)
    findings.expect(holds(gathered.narrow(0, int64_t(from) * elements, elements), values.of(elements, from)),
                    "started all-gather of " + name);
}

inline void movements(Communicator& comm, const Values& values, int64_t elements, Findings& findings) {
  const unsigned world = comm.worldSize(), rank = comm.rank();
  const std::string name = fmt::format("{} x {}", elements, c10::toString(values.type));
  const auto all = comm.allGather(values.there(elements, rank));
  findings.expect(all.size() == world, "all-gather gives one tensor a rank");
  for (unsigned from = 0; from < all.size(); ++from)
    findings.expect(holds(all[from], values.of(elements, from)), fmt::format("all-gather of {} from {}", name, from));
  const Values whole{values.place, at::kLong};
  for (unsigned root = 0; root < world; ++root) {
    std::vector<at::Tensor> many{values.there(elements, rank), whole.there(3, rank)};
    comm.broadcastAll(many, root, 64);
    if (values.place.computes || world == 1)
      findings.expect(holds(many[0], values.of(elements, root)) && holds(many[1], whole.of(3, root)),
                      fmt::format("broadcast of many with {} from {}", name, root));
  }
}

/// All collectives over `world` ranks. Says "" when everything holds.
inline std::vector<RankOutcome> collectives(unsigned world, const Prepare& prepare) {
  using namespace std::chrono_literals;
  return runRanks(world, 40s, 120s, [&](const Rendezvous& rendezvous) {
    auto comm = Communicator::open(rendezvous, [](const std::string& text) { sayAndLeave(text); });
    const Place place = prepare(*comm, rendezvous);
    Findings findings;
    try {
      for (const auto type : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong}) {
        for (const int64_t elements : {int64_t{1}, int64_t{7}, int64_t{100'003}}) {
          reductions(*comm, {place, type}, elements, findings);
          movements(*comm, {place, type}, elements, findings);
        }
      }
      comm->barrier();
      comm->shutdown();
    } catch (const CommError& error) {
      sayAndLeave(error.what());  // a communicator that broke is not taken down
    }
    return findings.text();
  });
}

/// A collective that the last rank never joins: because it died, or because it sleeps past the timeout.
struct Interruption {
  const char* operation;  // as the error names it
  std::function<void(Communicator&, at::Tensor&)> call;
};

inline std::vector<Interruption> interruptions() {
  return {{"an all-reduce", [](Communicator& comm, at::Tensor& tensor) { comm.allReduce(tensor, Reduction::Sum); }},
          {"a broadcast of many tensors",
           [](Communicator& comm, at::Tensor& tensor) { comm.broadcastAll({tensor}, comm.worldSize() - 1, 64); }},
          {"an all-gather", [](Communicator& comm, at::Tensor& tensor) { comm.allGather(tensor); }},
          {"an all-gather", [](Communicator& comm, at::Tensor& tensor) { comm.startAllGather(tensor).wait(); }},
          {"a reduce-scatter",
           [](Communicator& comm, at::Tensor& tensor) { comm.startReduceScatter(tensor, Reduction::Sum).wait(); }},
          {"a barrier", [](Communicator& comm, at::Tensor&) { comm.barrier(); }}};
}

/// Ranks that start on a busy machine must meet within it too.
constexpr std::chrono::seconds kShortTimeout{10};

/// What the ranks say when the last one leaves before the collective (`dies`) or sleeps through the timeout. A backend
/// that learns of a death by itself gets a timeout that no test waits for.
inline std::vector<RankOutcome> interrupted(unsigned world, const Interruption& interruption, bool dies,
                                            const Prepare& prepare, std::chrono::seconds timeout) {
  using namespace std::chrono_literals;
  // The ranks that are through, for the one that sleeps: it need not do so for longer than they wait.
  void* page = mmap(nullptr, sizeof(std::atomic<unsigned>), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) abort();
  auto& through = *new (page) std::atomic<unsigned>(0);
  const auto rank = [&](const Rendezvous& rendezvous) -> std::string {
    std::chrono::steady_clock::time_point begin;
    const auto judged = [&](const char* words) {
      ++through;
      const bool early = dies || std::chrono::steady_clock::now() - begin > timeout - 500ms;
      return early ? words : std::string("before the timeout: ") + words;
    };
    auto comm = Communicator::open(rendezvous, [&](const std::string& text) { sayAndLeave(judged(text.c_str())); });
    const at::Device device = prepare(*comm, rendezvous).device;
    auto tensor = at::ones({int64_t(world) * 1000}, at::TensorOptions(at::kFloat).device(device));
    comm->allReduce(tensor, Reduction::Sum);  // connected
    tensor.sum().item<float>();
    comm->barrier();
    if (rendezvous.rank == world - 1) {
      const auto end = std::chrono::steady_clock::now() + 60s;
      while (!dies && through + 1 < world && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(10ms);
      _exit(9);
    }
    begin = std::chrono::steady_clock::now();
    try {
      interruption.call(*comm, tensor);
      // On a GPU the collective itself is only queued: the host waits here, as at the end of a step.
      tensor.sum().item<float>();
      comm->barrier();
    } catch (const CommError& error) {
      sayAndLeave(judged(error.what()));
    }
    ++through;
    return "survived";
  };
  auto outcomes = runRanks(world, timeout, 90s, rank);
  munmap(page, sizeof(std::atomic<unsigned>));
  return outcomes;
}

/// Rank 0's words for each interruption, in order; all of them at the same time, since they mostly wait.
inline std::vector<std::string> interruptedAll(unsigned world, bool dies, const Prepare& prepare,
                                               std::chrono::seconds timeout) {
  using namespace std::chrono_literals;
  const auto all = interruptions();
  std::vector<std::string> said;
  for (const auto& outcome : runRanks(unsigned(all.size()), 1s, 120s, [&](const Rendezvous& which) {
         const auto first = interrupted(world, all[which.rank], dies, prepare, timeout).front();
         return first.ended ? first.said : std::string("did not end");
       }))
    said.push_back(outcome.said);
  return said;
}

}  // namespace expc::comm::conformance
