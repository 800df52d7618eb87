#include <set>

#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

constexpr int kEach = 20;

/// Two streams with `kEach` notes each; the second waits, in its middle, for the first one's middle.
std::string order(int seed, bool waits) {
  const Outcome outcome = inChild({{"NULLGPU_SEED", std::to_string(seed)}}, [&](std::FILE* out) {
    const cudaStream_t first = newStream(), second = newStream();
    const cudaEvent_t middle = newEvent(cudaEventDisableTiming);
    Notes notes;
    Gate gate(first);
    for (int note = 0; note < kEach; ++note) {
      if (waits && note == kEach / 2) OK(cudaEventRecord(middle, first));
      notes.note(first, note);
    }
    for (int note = 0; note < kEach; ++note) {
      if (waits && note == kEach / 2) OK(cudaStreamWaitEvent(second, middle, 0));
      notes.note(second, 100 + note);
    }
    gate.open();
    OK(cudaDeviceSynchronize());
    bool kept = notes.order().size() == 2 * kEach;
    for (int note = 1; note < kEach; ++note)
      kept = kept && notes.place(note - 1) < notes.place(note) && notes.place(99 + note) < notes.place(100 + note);
    const bool after = notes.place(kEach / 2 - 1) < notes.place(100 + kEach / 2);
    std::fprintf(out, "%s %s", kept ? "in order" : "out of order", after ? "after" : "before");
  });
  CHECK_MESSAGE(outcome.ended(), outcome.errors);
  return outcome.said;
}

}  // namespace

TEST_CASE("streams keep their own order and that of events, whatever the seed") {
  for (int seed = 1; seed <= 40; ++seed) CHECK(order(seed, true) == "in order after");
}

TEST_CASE("streams that nothing orders go either way") {
  std::set<std::string> seen;
  for (int seed = 1; seed <= 40; ++seed) seen.insert(order(seed, false));
  CHECK(seen == std::set<std::string>{"in order after", "in order before"});
}

TEST_CASE("the legacy default stream waits for blocking streams, and they for it") {
  for (int seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = inChild({{"NULLGPU_SEED", std::to_string(seed)}}, [](std::FILE* out) {
      const cudaStream_t first = newStream(cudaStreamDefault), second = newStream(cudaStreamDefault);
      Notes notes;
      Gate gate(first);
      notes.note(first, 1);
      notes.note(nullptr, 2);
      notes.note(second, 3);
      notes.note(nullptr, 4);
      gate.open();
      OK(cudaStreamSynchronize(nullptr));
      for (const int number : notes.order()) std::fprintf(out, "%d", number);
    });
    CHECK(said(outcome) == "1234");
  }
}

TEST_CASE("the legacy default stream does not wait for a stream that does not block, nor for another card's") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t free = newStream();
          Gate gate(free);
          OK(cudaSetDevice(1));
          Gate other(newStream(cudaStreamDefault));
          OK(cudaSetDevice(0));
          OK(launchKernel(nullptr));
          OK(cudaStreamSynchronize(nullptr));
          std::fprintf(out, "%s", cudaGetErrorName(cudaStreamQuery(free)));
          gate.open();
          other.open();
        })) == "cudaErrorNotReady");
}

TEST_CASE("an event is the point at which it was recorded last") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t first = newStream(), second = newStream();
          const cudaEvent_t event = newEvent();
          OK(cudaEventQuery(event));  // an event that was never recorded needs no wait
          OK(cudaEventRecord(event, first));
          OK(cudaEventSynchronize(event));
          Gate gate(first);
          OK(cudaEventRecord(event, first));
          std::fprintf(out, "%s ", cudaGetErrorName(cudaEventQuery(event)));
          OK(cudaStreamWaitEvent(second, event, 0));
          OK(cudaEventRecord(event, newStream()));  // a wait under way stays with the earlier recording
          OK(cudaEventSynchronize(event));
          std::fprintf(out, "%s", cudaGetErrorName(cudaStreamQuery(second)));
          gate.open();
          OK(cudaStreamSynchronize(second));
        })) == "cudaErrorNotReady cudaErrorNotReady");
}

TEST_CASE("queries alone bring a stream to its end") {
  CHECK(said(inChild({}, [](std::FILE*) {
          const cudaStream_t stream = newStream();
          for (int launch = 0; launch < 1000; ++launch) OK(launchKernel(stream));
          while (cudaStreamQuery(stream) == cudaErrorNotReady) continue;
          OK(cudaDeviceSynchronize());
        })) == "");
}

TEST_CASE("the time between events is that at which the card reached them") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          const cudaEvent_t begin = newEvent(), end = newEvent(), untimed = newEvent(cudaEventDisableTiming);
          float milliseconds = -1;
          std::fprintf(out, "%s ", cudaGetErrorName(cudaEventElapsedTime(&milliseconds, begin, end)));
          OK(cudaEventRecord(begin, stream));
          OK(cudaEventRecord(untimed, stream));
          Gate gate(stream);
          OK(cudaEventRecord(end, stream));
          std::fprintf(out, "%s ", cudaGetErrorName(cudaEventElapsedTime(&milliseconds, begin, end)));
          usleep(3000);
          gate.open();
          OK(cudaStreamSynchronize(stream));
          OK(cudaEventElapsedTime(&milliseconds, begin, end));
          std::fprintf(out, "%d %s", int(milliseconds > 0),
                       cudaGetErrorName(cudaEventElapsedTime(&milliseconds, begin, untimed)));
        })) == "cudaErrorInvalidResourceHandle cudaErrorNotReady 1 cudaErrorInvalidResourceHandle");
}

TEST_CASE("functions of the host may not call the runtime, callbacks learn their stream") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          cudaError_t answer = cudaSuccess;
          OK(cudaLaunchHostFunc(
              stream, [](void* into) { *static_cast<cudaError_t*>(into) = cudaDeviceSynchronize(); }, &answer));
          cudaStream_t seen = nullptr;
          OK(cudaStreamAddCallback(
              stream, [](cudaStream_t own, cudaError_t, void* into) { *static_cast<cudaStream_t*>(into) = own; }, &seen,
              0));
          OK(cudaStreamSynchronize(stream));
          std::fprintf(out, "%s %d", cudaGetErrorName(answer), int(seen == stream));
        })) == "cudaErrorNotPermitted 1");
}

TEST_CASE("handles that stand for nothing are refused, and a destroyed stream ends its work") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          Notes notes;
          const cudaStream_t stream = newStream();
          Gate gate(stream);
          notes.note(stream, 1);
          OK(cudaStreamDestroy(stream));
          std::fprintf(out, "%s ", cudaGetErrorName(cudaStreamSynchronize(stream)));
          const cudaEvent_t event = newEvent();
          OK(cudaEventDestroy(event));
          std::fprintf(out, "%s ", cudaGetErrorName(cudaEventRecord(event, nullptr)));
          OK(cudaSetDevice(1));
          const cudaEvent_t elsewhere = newEvent();
          OK(cudaSetDevice(0));
          std::fprintf(out, "%s ", cudaGetErrorName(cudaEventRecord(elsewhere, nullptr)));
          gate.open();
          OK(cudaDeviceSynchronize());
          std::fprintf(out, "%zu", notes.order().size());
        })) == "cudaErrorInvalidResourceHandle cudaErrorInvalidResourceHandle cudaErrorInvalidResourceHandle 1");
}

TEST_CASE("a process ends while its cards still have work") {
  const Outcome outcome = inChild({}, [](std::FILE*) {
    std::atexit([] {  // as a static destructor, which comes after the runtime's end
      if (cudaDeviceSynchronize() != cudaErrorCudartUnloading) _exit(9);
    });
    Gate gate(newStream());
    const cudaStream_t stream = newStream();
    for (int launch = 0; launch < 10'000; ++launch) OK(launchKernel(stream));
  });
  CHECK_MESSAGE(outcome.ended(), outcome.errors);
}
