// What full sharding leaves on a rank and what it gathers, by the counting allocator: bytes are exact.

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <thread>

#include "runtime/base/format.h"
#include "runtime/worker/llama/decoder.h"
#include "runtime/worker/llama/random_weights.h"
#include "runtime/worker/llama/steps.h"
#include "tests/memory/counting_allocator.h"
#include "tests/support/comm/ranks.h"

namespace expc::parity {
namespace {

using namespace std::chrono_literals;

constexpr int64_t kLayers = 8;

llama::Config config(int64_t width) {
  llama::Config c;
  c.vocabulary = 64, c.width = width, c.layers = kLayers, c.heads = 4, c.kv_heads = 4, c.head_width = width / 4;
  c.mlp_width = width, c.max_positions = 128;
  return c;
}

struct Measured {
  // Bytes. Threads that gather and reduce may let go late, so `loading` and `step` are the least of several.
  double loading = 0;                      // at most while weights are drawn, beyond those that stay
  double live = 0, forward = 0, step = 0;  // between steps; at most in a pass without gradients, in a step
  double seconds = 0;                      // of a step
  llama::GatherCounts counts;              // of a step
};

/// What is held once the thread that gathers has let go of what it gave, which may take a moment on a busy machine.
double heldInTheEnd() {
  int64_t least = memory::held();
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(10ms);
    least = std::min(least, memory::held());
  }
  return double(least);
}

Measured measure(comm::Communicator& ranks, int64_t width, int64_t columns, int steps, bool prefetch) {
  Measured result;
  llama::DecoderOptions options;
  options.activation_checkpointing = true;
  options.sharding = llama::Sharding{&ranks, prefetch};
  result.loading = 1e300;
  const auto loaded = [&] {
    memory::resetPeak();
    auto decoder = std::make_unique<llama::Decoder>(config(width), options, 1, llama::randomWeights(5, at::kFloat));
    result.loading = std::min(result.loading, double(memory::peak()) - heldInTheEnd());
    return decoder;
  };
  loaded();
  const auto kept = loaded();
  llama::Decoder& decoder = *kept;
  llama::Steps training(optimizer::makeAdam(decoder.trainableTensors(), {1e-3}), decoder.trainableTensors(),
                        std::nullopt, 0, llama::Together{&ranks, decoder.trainsParts()});
  const at::Tensor tokens = at::arange(columns, at::kLong).remainder(64).unsqueeze(0);
  const auto labelled = llama::labelledPositions(tokens);
  llama::GatherCounts before;
  const auto step = [&] {
    before = decoder.gathered();
    training.add(decoder.lossSum({tokens, {}, {}}, labelled), double(labelled.count()));
    training.finish();
  };
  step();  // moments appear
  result.live = heldInTheEnd();
  memory::resetPeak();
  {
    at::NoGradGuard no_grad;
    decoder.lossSum({tokens, {}, {}}, labelled);
  }
  result.forward = double(memory::peak());
  result.seconds = result.step = 1e300;
  for (int i = 0; i < steps; ++i) {
    memory::resetPeak();
    const auto begin = std::chrono::steady_clock::now();
    step();
    result.seconds =
        std::min(result.seconds, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    result.step = std::min(result.step, double(memory::peak()));
  }
  const llama::GatherCounts& after = decoder.gathered();
  result.counts = {after.gathers - before.gathers, after.ahead - before.ahead, after.bytes - before.bytes,
                   after.waited_seconds - before.waited_seconds};
  return result;
}

/// What rank 0 of `world` says.
std::string ofFirstRank(unsigned world, const std::function<std::string(comm::Communicator&)>& body) {
  const auto outcomes = comm::runRanks(world, 300s, 500s, [&](const comm::Rendezvous& rendezvous) {
    at::set_num_threads(1);
    memory::countTensors();
    auto communicator = comm::Communicator::open(rendezvous);
    std::string said = body(*communicator);
    communicator->shutdown();
    return said;
  });
  return outcomes[0].ended ? outcomes[0].said : "did not end";
}

TEST_CASE("weights, gradients and moments are divided by the ranks; two units at most are whole") {
  const double block = 4.0 * (7 * 128 * 128 + 2 * 128), ends = 4.0 * (2 * 64 * 128 + 128);
  const double weights = kLayers * block + ends;
  for (const unsigned world : {1u, 2u, 4u}) {
    CAPTURE(world);
    const std::string said = ofFirstRank(world, [&](comm::Communicator& ranks) {
      std::string wrong;
      const auto expect = [&](bool holds, const std::string& what) {
        if (!holds) wrong += what + "; ";
      };
      for (const bool prefetch : {true, false}) {
        const Measured m = measure(ranks, 128, 4, 3, prefetch);
        // A rank draws a matrix's share of its own at a time.
        const double matrix = 4.0 * 128 * 128;
        expect(m.loading < matrix + 0.05 * block, fmt::format("{} bytes beside the weights while loading", m.loading));
        const double own = 3 * weights / world, slack = 0.25 * block;  // activations, tables, padding
        expect(m.live >= own && m.live < own + slack, fmt::format("{} bytes live of {}", m.live, own));
        if (world == 1) {
          expect(m.step >= 4 * weights && m.step < 4 * weights + slack, fmt::format("{} bytes in a step", m.step));
          continue;
        }
        const double gathered = (m.forward - m.live) / block, going_back = (m.step - m.live - weights / world) / block;
        expect(gathered > (prefetch ? 1.9 : 0.9) && gathered < (prefetch ? 2.25 : 1.25),
               fmt::format("{} blocks gathered", gathered));
        // Two blocks' weights, two blocks' gradients; one of them less without prefetching.
        expect(going_back < (prefetch ? 4.4 : 3.4), fmt::format("{} blocks on the way back", going_back));
        // The embedding, blocks and head on the way; the blocks again on the way back. Nothing comes before the first.
        expect(m.counts.gathers == 2 * kLayers + 2, fmt::format("{} gathers", m.counts.gathers));
        expect(m.counts.ahead == (prefetch ? 2 * kLayers + 1 : 0), fmt::format("{} ahead", m.counts.ahead));
      }
      return wrong;
    });
    CHECK(said == "");
  }
}

// Figures of docs/measurements/sharding.md: run with --no-skip. They are times, so nothing is asked of them.
TEST_CASE("measured: gathers beside the computation" * doctest::skip()) {
  for (const unsigned world : {1u, 2u, 4u})
    for (const bool prefetch : {true, false}) {
      if (world == 1 && !prefetch) continue;
      const std::string said = ofFirstRank(world, [&](comm::Communicator& ranks) {
        const Measured m = measure(ranks, 512, 128, 7, prefetch);
        return fmt::format(
            "live {:.1f} MiB, peak {:.1f} MiB, step {:.1f} ms, of it waiting {:.1f} ms, gathered {:.1f} MiB",
            m.live / 0x1p20, m.step / 0x1p20, m.seconds * 1e3, m.counts.waited_seconds * 1e3,
            double(m.counts.bytes) / 0x1p20);
      });
      MESSAGE(world, " ranks, prefetch ", prefetch, ": ", said);
    }
}

}  // namespace
}  // namespace expc::parity
