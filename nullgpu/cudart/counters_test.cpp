#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cstddef>

#include "nullgpu/core/counters_api.h"
#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

/// Finds the function as a program does that is not linked with the libraries.
nullgpu_counts counted() {
  nullgpu_counts counters{};
  counters.size = sizeof counters;
  const auto read = reinterpret_cast<decltype(&nullgpu_counters)>(dlsym(RTLD_DEFAULT, "nullgpu_counters"));
  if (!read || read(&counters) != 0) std::exit(4);
  return counters;
}

/// The number of calls in `body` in which the host waits.
std::string waits(const std::function<void(cudaStream_t)>& body) {
  return said(inChild({}, [&](std::FILE* out) {
    const cudaStream_t stream = newStream();
    const uint64_t before = counted().synchronizations;
    body(stream);
    std::fprintf(out, "%lu", counted().synchronizations - before);
  }));
}

}  // namespace

TEST_CASE("launches, copies and their bytes are counted") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          char *host = hostMemory(100), *card = cardMemory(100), *other = cardMemory(100);
          OK(launchKernel(stream));
          OK(launchKernel(stream));
          OK(cudaMemcpyAsync(card, host, 100, cudaMemcpyHostToDevice, stream));
          OK(cudaMemcpyAsync(other, card, 50, cudaMemcpyDeviceToDevice, stream));
          OK(cudaMemcpyAsync(host, other, 25, cudaMemcpyDeviceToHost, stream));
          OK(cudaMemsetAsync(card, 0, 10, stream));
          OK(cudaStreamSynchronize(stream));
          const nullgpu_counts all = counted();
          std::fprintf(out, "%lu %lu %lu | %lu %lu | %lu %lu | %lu %lu | %lu %lu | %lu | %d", all.launches,
                       all.allocations, all.synchronizations, all.to_card.calls, all.to_card.bytes,
                       all.within_card.calls, all.within_card.bytes, all.from_card.calls, all.from_card.bytes,
                       all.sets.calls, all.sets.bytes, all.between_cards.calls,
                       int(all.collectives[0].name == nullptr));
        })) == "2 2 1 | 1 100 | 1 50 | 1 25 | 1 10 | 0 | 1");
}

TEST_CASE("a launch of a graph counts what the graph holds") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          char* card = cardMemory(100);
          cudaGraph_t graph = nullptr;
          cudaGraphExec_t executable = nullptr;
          OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
          for (int kernel = 0; kernel < 3; ++kernel) OK(launchKernel(stream));
          OK(cudaMemsetAsync(card, 0, 10, stream));
          OK(cudaStreamEndCapture(stream, &graph));
          OK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
          OK(cudaStreamSynchronize(stream));
          std::fprintf(out, "%lu", counted().launches);
          for (int launch = 0; launch < 2; ++launch) OK(cudaGraphLaunch(executable, stream));
          OK(cudaStreamSynchronize(stream));
          std::fprintf(out, " %lu %lu", counted().launches, counted().sets.calls);
        })) == "0 6 2");
}

TEST_CASE("every call in which the host waits is counted, and no other") {
  constexpr size_t kLarge = size_t{1} << 20;  // more than a call copies aside
  CHECK(waits([](cudaStream_t stream) { OK(cudaStreamSynchronize(stream)); }) == "1");
  CHECK(waits([](cudaStream_t) { OK(cudaDeviceSynchronize()); }) == "1");
  CHECK(waits([](cudaStream_t) { OK(cudaFree(cardMemory(100))); }) == "1");
  CHECK(waits([](cudaStream_t stream) {
          const cudaEvent_t event = newEvent();
          OK(cudaEventRecord(event, stream));
          while (cudaEventQuery(event) != cudaSuccess) continue;
          while (cudaStreamQuery(stream) != cudaSuccess) continue;
          OK(cudaStreamWaitEvent(stream, event, 0));
        }) == "0");
  CHECK(waits([](cudaStream_t) {
          const cudaEvent_t event = newEvent();
          OK(cudaEventRecord(event, nullptr));
          OK(cudaEventSynchronize(event));
        }) == "1");
  for (const size_t bytes : {size_t{100}, kLarge}) {
    std::vector<char> pageable(bytes);
    CHECK(waits([&](cudaStream_t stream) {
            OK(cudaMemcpyAsync(pageable.data(), cardMemory(bytes), bytes, cudaMemcpyDeviceToHost, stream));
          }) == "1");
    CHECK(waits([&](cudaStream_t) {
            OK(cudaMemcpy(pageable.data(), cardMemory(bytes), bytes, cudaMemcpyDeviceToHost));
          }) == "1");
    CHECK(waits([&](cudaStream_t) {
            OK(cudaMemcpy(cardMemory(bytes), pageable.data(), bytes, cudaMemcpyHostToDevice));
          }) == "1");
    CHECK(waits([&](cudaStream_t stream) {
            OK(cudaMemcpyAsync(cardMemory(bytes), pageable.data(), bytes, cudaMemcpyHostToDevice, stream));
          }) == (bytes == kLarge ? "1" : "0"));
    CHECK(waits([&](cudaStream_t stream) {
            OK(cudaMemcpyAsync(hostMemory(bytes), cardMemory(bytes), bytes, cudaMemcpyDeviceToHost, stream));
          }) == "0");
  }
}

TEST_CASE("a caller that knows less gets less, and one that knows nothing is refused") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          OK(launchKernel(nullptr));
          OK(cudaDeviceSynchronize());
          nullgpu_counts less{};
          less.size = offsetof(nullgpu_counts, allocations);
          less.synchronizations = 77;
          const int answer = nullgpu_counters(&less);
          std::fprintf(out, "%d %lu %lu %lu", answer, less.size, less.launches, less.synchronizations);
          struct {
            nullgpu_counts known;
            uint64_t unknown = 5;
          } more{};
          more.known.size = sizeof more;
          const bool shrunk = nullgpu_counters(&more.known) == 0 && more.known.size == sizeof more.known;
          nullgpu_counts empty{};
          std::fprintf(out, " %d %lu %d %d", int(shrunk), more.unknown, nullgpu_counters(&empty),
                       nullgpu_counters(nullptr));
        })) == "0 16 1 77 1 5 -1 -1");
}
