#include <sys/mman.h>

#include <cstring>

#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

constexpr size_t kRangeBytes = size_t{1} << 20;

/// Does `deed` to the buffer while a copy of `bytes` from `host + offset` waits; then lets the
/// stream go on.
Outcome whileCopyWaits(size_t offset, size_t bytes, const std::function<void(char* host)>& deed) {
  return inChild({}, [&](std::FILE* out) {
    const cudaStream_t stream = newStream();
    char *host = hostMemory(kRangeBytes), *card = cardMemory(kRangeBytes);
    Gate gate(stream);
    OK(cudaMemcpyAsync(card, host + offset, bytes, cudaMemcpyHostToDevice, stream));
    deed(host);
    std::fflush(nullptr);
    gate.open();
    OK(cudaStreamSynchronize(stream));
    std::memset(host, 1, kRangeBytes);  // from here on the buffer belongs to the program again
    OK(cudaFreeHost(host));
    std::fprintf(out, "done");
  });
}

/// The frames of this program between two lines of a message.
bool hasFrames(const std::string& errors, const std::string& after, const std::string& before) {
  const size_t begin = errors.find(after);
  const size_t end = before.empty() ? errors.size() : errors.find(before);
  if (begin == std::string::npos || end == std::string::npos) return false;
  return errors.substr(begin, end - begin).find("nullgpu_cudart_test") != std::string::npos;
}

void checkBothPlaces(const Outcome& outcome, const std::string& deed) {
  CAPTURE(outcome.errors);
  CHECK(outcome.signal() == SIGABRT);
  CHECK(outcome.mentions("was " + deed + " while a copy of"));
  CHECK(hasFrames(outcome.errors, "the copy was queued here:", "it was " + deed + " here:"));
  CHECK(hasFrames(outcome.errors, "it was " + deed + " here:", ""));
}

}  // namespace

TEST_CASE("who changes a buffer that a copy waits for is named") {
  checkBothPlaces(whileCopyWaits(0, kRangeBytes, [](char* host) { host[kRangeBytes / 2] = 1; }), "changed");
}

TEST_CASE("a change at the edge, or of a small buffer, is seen when the copy comes") {
  for (const Outcome& outcome : {whileCopyWaits(100, kRangeBytes / 2, [](char* host) { host[100] = 1; }),
                                 whileCopyWaits(0, 1000, [](char* host) { host[999] = 1; })}) {
    CHECK(outcome.signal() == SIGABRT);
    CHECK(hasFrames(outcome.errors, "the copy was queued here:", "it was changed between"));
  }
}

TEST_CASE("what lies beside the buffer may be changed") {
  CHECK(whileCopyWaits(100, kRangeBytes / 2, [](char* host) {
          host[99] = 1;
          host[100 + kRangeBytes / 2] = 1;
          std::memset(host + kRangeBytes / 2 + 8192, 1, 4096);
        }).said == "done");
}

TEST_CASE("who frees or unregisters a buffer that a copy waits for is named") {
  checkBothPlaces(whileCopyWaits(0, 1000, [](char* host) { OK(cudaFreeHost(host)); }), "freed");
  const auto registered = [](bool reads) {
    return inChild({}, [=](std::FILE*) {
      auto* host = static_cast<char*>(std::aligned_alloc(4096, kRangeBytes));
      OK(cudaHostRegister(host, kRangeBytes, cudaHostRegisterDefault));
      char* card = cardMemory(kRangeBytes);
      Gate gate(nullptr);
      if (reads) OK(cudaMemcpyAsync(card, host, kRangeBytes, cudaMemcpyHostToDevice, nullptr));
      if (!reads) OK(cudaMemcpyAsync(host, card, kRangeBytes, cudaMemcpyDeviceToHost, nullptr));
      OK(cudaHostUnregister(host));
    });
  };
  checkBothPlaces(registered(true), "unregistered");
  checkBothPlaces(registered(false), "unregistered");
}

TEST_CASE("a page is kept as long as any copy waits for it") {
  const Outcome outcome = inChild({}, [](std::FILE* out) {
    const cudaStream_t first = newStream(), second = newStream();
    char *host = hostMemory(kRangeBytes), *card = cardMemory(kRangeBytes);
    Gate gate(second);
    OK(cudaMemcpyAsync(card, host, kRangeBytes, cudaMemcpyHostToDevice, first));
    OK(cudaMemcpyAsync(card, host + kRangeBytes / 2, kRangeBytes / 2, cudaMemcpyHostToDevice, second));
    OK(cudaStreamSynchronize(first));
    host[kRangeBytes / 4] = 1;
    std::fprintf(out, "first half free");
    std::fflush(out);
    host[kRangeBytes - kRangeBytes / 4] = 1;
  });
  CHECK(outcome.said == "first half free");
  checkBothPlaces(outcome, "changed");
}

TEST_CASE("a copy that writes what another waits to read is named; in one stream's order it may") {
  const auto copies = [](bool ordered) {
    return inChild({}, [=](std::FILE* out) {
      const cudaStream_t first = newStream(), second = ordered ? first : newStream();
      char *host = hostMemory(kRangeBytes), *card = cardMemory(kRangeBytes);
      Gate gate(first);
      OK(cudaMemcpyAsync(card, host, kRangeBytes, cudaMemcpyHostToDevice, first));
      OK(cudaMemcpyAsync(host, card, kRangeBytes, cudaMemcpyDeviceToHost, second));
      OK(cudaMemcpyAsync(card, host, kRangeBytes, cudaMemcpyHostToDevice, second));
      if (ordered) gate.open();
      OK(cudaStreamSynchronize(second));
      std::fprintf(out, "done");
    });
  };
  CHECK(copies(true).said == "done");
  const Outcome race = copies(false);
  CHECK(race.signal() == SIGABRT);
  CHECK(hasFrames(race.errors, "the copy that writes it was queued here:", ""));
}

TEST_CASE("a function of the host may fill the buffer of a copy behind it") {
  const Outcome outcome = inChild({}, [](std::FILE* out) {
    const cudaStream_t stream = newStream();
    char *host = hostMemory(kRangeBytes), *card = cardMemory(kRangeBytes);
    OK(cudaLaunchHostFunc(stream, [](void* data) { std::memset(data, 'f', kRangeBytes); }, host));
    OK(cudaMemcpyAsync(card, host, kRangeBytes, cudaMemcpyHostToDevice, stream));
    OK(cudaStreamSynchronize(stream));
    char value = 0;
    OK(cudaMemcpy(&value, card + kRangeBytes - 1, 1, cudaMemcpyDeviceToHost));
    std::fprintf(out, "%c", value);
  });
  CHECK_MESSAGE(outcome.said == "f", outcome.errors);
}

TEST_CASE("registered memory that may only be read is copied and stays so") {
  const Outcome outcome = inChild({}, [](std::FILE* out) {
    std::FILE* file = std::tmpfile();
    OK(ftruncate(fileno(file), kRangeBytes) == 0 ? cudaSuccess : cudaErrorUnknown);
    void* host = mmap(nullptr, kRangeBytes, PROT_READ, MAP_SHARED, fileno(file), 0);
    OK(cudaHostRegister(host, kRangeBytes, cudaHostRegisterReadOnly));
    OK(cudaMemcpy(cardMemory(kRangeBytes), host, kRangeBytes, cudaMemcpyHostToDevice));
    std::fprintf(out, "done");
    std::fflush(out);
    *static_cast<volatile char*>(host) = 1;
  });
  CHECK(outcome.said == "done");
  CHECK(outcome.signal() == SIGSEGV);
}

TEST_CASE("a forked process may write what a copy of its parent waits for") {
  const Outcome outcome = whileCopyWaits(0, kRangeBytes, [](char* host) {
    if (fork() == 0) {
      std::memset(host, 1, kRangeBytes);
      _exit(cudaDeviceSynchronize() == cudaErrorInitializationError ? 0 : 1);
    }
    int status = 0;
    wait(&status);
    if (status != 0) std::exit(4);
  });
  CHECK_MESSAGE(outcome.said == "done", outcome.errors);
}
