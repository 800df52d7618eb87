// Tests graphs on a GPU, real (tests/on_gpu) or simulated.

#include "runtime/worker/device/cuda/cuda_graph.h"

#include <ATen/ATen.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAStream.h>

#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include "runtime/worker/profile/cuda/cupti_probe.h"

using namespace expc;
using device::AllocatorPeaks;

namespace {

constexpr int64_t kElements = 1 << 20;

at::Tensor onCard(int64_t elements = kElements) { return at::zeros({elements}, at::TensorOptions(at::kCUDA)); }

/// Some operators, which need temporary memory.
at::Tensor computed(const at::Tensor& from) { return from.mul(2).add(1).exp().sum(); }

/// A graph of computed(), after the work has run once.
struct Recorded {
  AllocatorPeaks peaks{{0}};
  std::unique_ptr<device::Graph> graph = device::makeCudaGraph(0, peaks);
  at::Tensor input = onCard(), output;

  Recorded() {
    computed(input);
    graph->record([&] { output = computed(input); });
  }
};

}  // namespace

TEST_CASE("a launch is one call, whatever was recorded") {
  Recorded recorded;
  CHECK(recorded.graph->nodes() >= 4);
  const auto probe = profile::makeCuptiProbe();
  probe->prepare();
  c10::cuda::getCurrentCUDAStream().synchronize();
  probe->start();
  constexpr int kLaunches = 3;
  for (int i = 0; i < kLaunches; ++i) recorded.graph->launch();
  c10::cuda::getCurrentCUDAStream().synchronize();
  const auto findings = probe->stop(1);
  REQUIRE(findings.device.has_value());
  CHECK(findings.device->callsThatBegin("cudaGraphLaunch").count == kLaunches);
  CHECK(findings.device->callsThatBegin("cudaLaunchKernel").count == 0);
  CHECK(findings.device->callsThatBegin("cudaMemcpyAsync").count == 0);
}

TEST_CASE("what was launched has ended once the device is done, as any thread may ask") {
  Recorded recorded;
  recorded.graph->launch();
  const auto ended = recorded.graph->ended();
  c10::cuda::getCurrentCUDAStream().synchronize();
  CHECK(ended());
}

TEST_CASE("a thread works on a stream of the graph while that lives") {
  const auto before = c10::cuda::getCurrentCUDAStream();
  {
    const Recorded recorded;
    CHECK(c10::cuda::getCurrentCUDAStream() != before);
  }
  CHECK(c10::cuda::getCurrentCUDAStream() == before);
}

TEST_CASE("the peaks of memory have what a launch works on") {
  Recorded recorded;
  AllocatorPeaks& peaks = recorded.peaks;
  peaks.reset();
  const double idle = peaks.since().allocated;
  recorded.graph->launch();
  CHECK(peaks.since().allocated >= idle + kElements * sizeof(float));
  peaks.reset();
  CHECK(peaks.since().allocated == idle);
  const at::Tensor more = onCard(16 * kElements);
  CHECK(peaks.since().allocated >= idle + 16 * kElements * sizeof(float));
}

TEST_CASE("what waits for the device cannot be recorded, and leaves all as it was") {
  AllocatorPeaks peaks({0});
  const auto graph = device::makeCudaGraph(0, peaks);
  const at::Tensor input = onCard();
  const auto drawn = [&] { return at::rand({kElements}, input.options()); };
  const auto waits = [&] { (computed(input) + drawn()).sum().item<float>(); };
  waits();
  const at::Generator random = at::globalContext().defaultGenerator(input.device());
  const uint64_t offset = random.get_offset();
  const double idle = peaks.since().held;
  for (int again = 0; again < 3; ++again)
    CHECK_THROWS_WITH_AS(graph->record(waits), doctest::Contains("not permitted when stream is capturing"),
                         device::NotRecorded);
  CHECK(random.get_offset() == offset);
  // Operators continue on the graph's stream and random numbers where they were, and the attempts
  // keep no memory.
  waits();
  CHECK(random.get_offset() > offset);
  c10::cuda::CUDACachingAllocator::emptyCache();
  peaks.reset();
  CHECK(peaks.since().held <= idle);
  // Work that can be recorded still is.
  at::Tensor output;
  graph->record([&] { output = computed(input) + drawn().sum(); });
  graph->launch();
  c10::cuda::getCurrentCUDAStream().synchronize();
  CHECK(graph->nodes() >= 4);
}
