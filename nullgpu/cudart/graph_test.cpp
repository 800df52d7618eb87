#include <cstring>
#include <set>

#include "nullgpu/core/activity.h"
#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

cudaGraphExec_t instantiated(cudaGraph_t graph) {
  cudaGraphExec_t executable = nullptr;
  OK(cudaGraphInstantiateWithFlags(&executable, graph, 0));
  OK(cudaGraphDestroy(graph));
  return executable;
}

/// A note that can be written repeatedly.
void note(cudaStream_t stream, std::vector<int>& order, int number) {
  struct Entry {
    std::vector<int>* order;
    int number;
  };
  OK(cudaLaunchHostFunc(
      stream,
      [](void* data) {
        const auto* entry = static_cast<const Entry*>(data);
        entry->order->push_back(entry->number);
      },
      new Entry{&order, number}));
}

cudaStreamCaptureStatus status(cudaStream_t stream) {
  cudaStreamCaptureStatus result = cudaStreamCaptureStatusNone;
  OK(cudaStreamIsCapturing(stream, &result));
  return result;
}

}  // namespace

TEST_CASE("a captured callback is called with its data at each launch, also of a graph that is gone") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          int calls = 0;
          OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
          OK(cudaStreamAddCallback(
              stream, [](cudaStream_t, cudaError_t, void* data) { ++*static_cast<int*>(data); }, &calls, 0));
          cudaGraph_t graph = nullptr;
          OK(cudaStreamEndCapture(stream, &graph));
          const cudaGraphExec_t executable = instantiated(graph);
          for (int launch = 0; launch < 3; ++launch) OK(cudaGraphLaunch(executable, stream));
          OK(cudaStreamSynchronize(stream));
          std::fprintf(out, "%d", calls);
        })) == "3");
}

TEST_CASE("a graph of which a capture still goes on is not instantiated") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
          cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
          cudaGraph_t graph = nullptr;
          OK(cudaStreamGetCaptureInfo(stream, &status, nullptr, &graph, nullptr, nullptr, nullptr));
          cudaGraphExec_t executable = nullptr;
          std::fprintf(out, "%s ", cudaGetErrorName(cudaGraphInstantiateWithFlags(&executable, graph, 0)));
          OK(launchKernel(stream));
          OK(cudaStreamEndCapture(stream, &graph));
          OK(cudaGraphLaunch(instantiated(graph), stream));
          OK(cudaStreamSynchronize(stream));
        })) == "cudaErrorInvalidValue ");
}

TEST_CASE("a graph does what was captured, at each launch and not before") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          char *host = nullptr, *card = cardMemory(100);
          OK(cudaHostAlloc(reinterpret_cast<void**>(&host), 100, 0));
          OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
          OK(launchKernel(stream));
          OK(cudaMemcpyAsync(card, host, 100, cudaMemcpyHostToDevice, stream));
          OK(launchKernel(stream));
          cudaGraph_t graph = nullptr;
          OK(cudaStreamEndCapture(stream, &graph));
          size_t nodes = 0;
          OK(cudaGraphGetNodes(graph, nullptr, &nodes));
          const cudaGraphExec_t executable = instantiated(graph);
          OK(cudaStreamSynchronize(stream));
          std::fprintf(out, "%zu %lu", nodes, nullgpu::counters().launches);
          for (const char value : {'a', 'b'}) {
            std::memset(host, value, 100);
            OK(cudaGraphLaunch(executable, stream));
            OK(cudaStreamSynchronize(stream));
            char read = 0;
            OK(cudaMemcpy(&read, card, 1, cudaMemcpyDeviceToHost));
            std::fprintf(out, " %lu%c", nullgpu::counters().launches, read);
          }
          OK(cudaGraphExecDestroy(executable));
        })) == "3 0 2a 4b");
}

TEST_CASE("a capture forks to other streams by events, and its launches keep that order") {
  std::set<std::string> seen;
  for (int seed = 1; seed <= 20; ++seed)
    seen.insert(said(inChild({{"NULLGPU_SEED", std::to_string(seed)}}, [](std::FILE* out) {
      const cudaStream_t stream = newStream(), other = newStream();
      const cudaEvent_t fork = newEvent(), join = newEvent();
      std::vector<int> order;
      OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
      note(stream, order, 1);
      OK(cudaEventRecord(fork, stream));
      OK(cudaStreamWaitEvent(other, fork, 0));
      note(other, order, 2);
      note(stream, order, 3);
      OK(cudaEventRecord(join, other));
      OK(cudaStreamWaitEvent(stream, join, 0));
      note(stream, order, 4);
      std::fprintf(out, "%d ", int(status(other)));
      cudaGraph_t graph = nullptr;
      OK(cudaStreamEndCapture(stream, &graph));
      std::fprintf(out, "%d ", int(status(other)));
      const cudaGraphExec_t executable = instantiated(graph);
      OK(cudaGraphLaunch(executable, stream));
      OK(cudaGraphLaunch(executable, other));  // launches of one graph follow each other
      OK(cudaDeviceSynchronize());
      for (const int number : order) std::fprintf(out, "%d", number);
    })));
  CHECK(seen == std::set<std::string>{"1 0 12341234", "1 0 12341324", "1 0 13241234", "1 0 13241324"});
}

TEST_CASE("what a capture forbids is an error that makes it invalid") {
  const auto forbidden = [](const std::function<cudaError_t(cudaStream_t)>& call,
                            unsigned flags = cudaStreamNonBlocking) {
    return said(inChild({}, [&](std::FILE* out) {
      const cudaStream_t stream = newStream(flags);
      OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      OK(launchKernel(stream));
      std::fprintf(out, "%d ", int(call(stream)));
      cudaGraph_t graph = nullptr;
      std::fprintf(out, "%d ", int(cudaStreamEndCapture(stream, &graph)));
      std::fprintf(out, "%d %d", int(graph != nullptr), int(status(stream)));
    }));
  };
  void* address = nullptr;
  CHECK(forbidden([](cudaStream_t stream) { return cudaStreamSynchronize(stream); }) == "900 901 0 0");
  CHECK(forbidden([](cudaStream_t stream) { return cudaStreamQuery(stream); }) == "900 901 0 0");
  CHECK(forbidden([&](cudaStream_t) { return cudaMalloc(&address, 1); }) == "900 901 0 0");
  CHECK(forbidden([](cudaStream_t) { return cudaDeviceSynchronize(); }) == "900 901 0 0");
  CHECK(forbidden([](cudaStream_t) { return launchKernel(nullptr); }, cudaStreamDefault) == "906 901 0 0");
  CHECK(forbidden([](cudaStream_t) { return launchKernel(nullptr); }) == "0 0 1 0");
  CHECK(forbidden([](cudaStream_t stream) {
          const cudaEvent_t outside = newEvent();
          OK(cudaEventRecord(outside, newStream()));
          return cudaStreamWaitEvent(stream, outside, 0);
        }) == "905 901 0 0");
  CHECK(forbidden([](cudaStream_t stream) {
          const cudaEvent_t event = newEvent();
          OK(cudaEventRecord(event, stream));
          return cudaEventQuery(event);
        }) == "907 0 1 0");
  CHECK(forbidden([](cudaStream_t stream) {
          const cudaEvent_t event = newEvent();
          const cudaStream_t other = newStream();
          OK(cudaEventRecord(event, stream));
          OK(cudaStreamWaitEvent(other, event, 0));
          return launchKernel(other);  // the second stream is never joined
        }) == "0 904 0 0");
  CHECK(forbidden([](cudaStream_t) { return cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeGlobal); }) ==
        "900 0 1 0");
}

TEST_CASE("an operation that cannot be captured on demand makes its capture invalid") {
  CHECK(said(inChild({{"NULLGPU_FAULTS", "capture=2"}}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          cudaGraph_t graph = nullptr;
          OK(launchKernel(stream));
          OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
          OK(launchKernel(stream));
          std::fprintf(out, "%d ", int(launchKernel(stream)));
          std::fprintf(out, "%d %d", int(cudaStreamEndCapture(stream, &graph)), int(graph != nullptr));
        })) == "900 901 0");
}

TEST_CASE("a runtime without graphs on demand begins no capture") {
  CHECK(said(inChild({{"NULLGPU_FAULTS", "graphs"}}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          std::fprintf(out, "%d ", int(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal)));
          std::fprintf(out, "%d", int(status(stream)));
          OK(launchKernel(stream));
        })) == "801 0");
}

TEST_CASE("a thread in the relaxed mode may allocate during a capture") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
          cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
          OK(cudaThreadExchangeStreamCaptureMode(&mode));
          cardMemory(100);
          OK(cudaThreadExchangeStreamCaptureMode(&mode));
          cudaGraph_t graph = nullptr;
          OK(cudaStreamEndCapture(stream, &graph));
          std::fprintf(out, "%d", int(mode));
        })) == std::to_string(cudaStreamCaptureModeRelaxed));
}

TEST_CASE("a buffer that a launch of a graph waits for is guarded as that of a copy") {
  const Outcome outcome = inChild({}, [](std::FILE*) {
    constexpr size_t kBytes = size_t{1} << 20;
    const cudaStream_t stream = newStream();
    char *host = hostMemory(kBytes), *card = cardMemory(kBytes);
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    OK(cudaMemcpyAsync(card, host, kBytes, cudaMemcpyHostToDevice, stream));
    cudaGraph_t graph = nullptr;
    OK(cudaStreamEndCapture(stream, &graph));
    const cudaGraphExec_t executable = instantiated(graph);
    std::memset(host, 1, kBytes);
    Gate gate(stream);
    OK(cudaGraphLaunch(executable, stream));
    host[kBytes / 2] = 2;
  });
  CHECK(outcome.signal() == SIGABRT);
  CHECK(outcome.mentions("was changed while a copy"));
}
