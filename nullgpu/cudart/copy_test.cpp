#include <cstring>
#include <vector>

#include "nullgpu/core/activity.h"
#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

constexpr size_t kBytes = size_t{1} << 20;

char valueOnCard(const char* address) {
  char value = 0;
  OK(cudaMemcpy(&value, address, 1, cudaMemcpyDeviceToHost));
  return value;
}

}  // namespace

TEST_CASE("page-locked memory is copied late, in both directions") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          char *from = hostMemory(kBytes), *to = hostMemory(kBytes), *card = cardMemory(kBytes);
          std::memset(from, 'a', kBytes);
          Gate gate(stream);
          OK(cudaMemcpyAsync(card, from, kBytes, cudaMemcpyHostToDevice, stream));
          OK(cudaMemcpyAsync(to, card, kBytes, cudaMemcpyDeviceToHost, stream));
          std::fprintf(out, "%d", to[kBytes - 1]);
          gate.open();
          OK(cudaStreamSynchronize(stream));
          std::fprintf(out, "%c", to[kBytes - 1]);
        })) == "0a");
}

TEST_CASE("the content of pageable memory is taken before the call returns") {
  for (const size_t bytes : {size_t{1000}, kBytes}) {
    CHECK(said(inChild({}, [&](std::FILE* out) {
            const cudaStream_t stream = newStream();
            std::vector<char> from(bytes, 'a');
            char* card = cardMemory(bytes);
            OK(cudaMemcpyAsync(card, from.data(), bytes, cudaMemcpyHostToDevice, stream));
            std::memset(from.data(), 'b', bytes);
            OK(cudaStreamSynchronize(stream));
            std::fprintf(out, "%c", valueOnCard(card + bytes - 1));
          })) == "a");
  }
}

TEST_CASE("a copy into pageable memory is there when the call returns") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          char* card = cardMemory(kBytes);
          OK(cudaMemsetAsync(card, 'c', kBytes, stream));
          std::vector<char> to(kBytes);
          OK(cudaMemcpyAsync(to.data(), card, kBytes, cudaMemcpyDeviceToHost, stream));
          std::fprintf(out, "%c%c", to.front(), to.back());
        })) == "cc");
}

TEST_CASE("rows, copies within a card and between cards, sets and holes") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          std::vector<char> from(64 * 16, 'x'), to(64 * 32, '.');
          char* card = cardMemory(64 * 20);
          OK(cudaMemcpy2D(card, 20, from.data(), 16, 16, 64, cudaMemcpyHostToDevice));
          OK(cudaMemcpy2DAsync(to.data(), 32, card, 20, 20, 64, cudaMemcpyDeviceToHost, nullptr));
          std::fprintf(out, "%c%d%c ", to[15], to[16], to[20]);

          char* sparse = cardMemory(kBytes);
          OK(cudaMemset(sparse + kBytes / 2, 'y', 1));
          OK(cudaSetDevice(1));
          char* other = cardMemory(kBytes);
          OK(cudaMemset(other, 'z', kBytes));
          OK(cudaDeviceSynchronize());
          OK(cudaMemcpyPeerAsync(other, 1, sparse, 0, kBytes, nullptr));
          std::fprintf(out, "%d%c%d ", valueOnCard(other), valueOnCard(other + kBytes / 2),
                       valueOnCard(other + kBytes - 1));
          OK(cudaMemset(other, 0, kBytes));
          std::fprintf(out, "%d", valueOnCard(other + kBytes / 2));
        })) == "x0. 0y0 0");
}

TEST_CASE("what is no copy is refused") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          char* card = cardMemory(100);
          std::vector<char> host(5000);
          const auto refused = [&](cudaError_t error) { std::fprintf(out, "%d ", int(error)); };
          refused(cudaMemcpy(card, host.data(), 101, cudaMemcpyHostToDevice));           // beyond the allocation
          refused(cudaMemcpy(host.data(), host.data() + 1, 8, cudaMemcpyHostToDevice));  // no memory of a card
          refused(cudaMemcpy(card, card + 50, 8, cudaMemcpyHostToDevice));               // no memory of the host
          refused(cudaMemcpy(nullptr, card, 8, cudaMemcpyDeviceToHost));
          // Rows are longer than their pitch.
          refused(cudaMemcpy2D(card, 4, host.data(), 8, 8, 2, cudaMemcpyHostToDevice));
          refused(cudaMemset(host.data(), 0, 8));
          refused(cudaMemcpy(nullptr, nullptr, 0, cudaMemcpyHostToDevice));  // a copy of nothing succeeds
        })) == "1 1 1 1 12 1 0 ");
}

TEST_CASE("with NULLGPU_DROP larger copies arrive without their content") {
  CHECK(said(inChild({{"NULLGPU_DROP", "4096"}}, [](std::FILE* out) {
          std::vector<char> host(8192, 'a');
          char* card = cardMemory(8192);
          OK(cudaMemcpy(card, host.data(), 8192, cudaMemcpyHostToDevice));
          std::fprintf(out, "%d ", valueOnCard(card));
          OK(cudaMemcpy(card, host.data(), 4096, cudaMemcpyHostToDevice));
          std::fprintf(out, "%c ", valueOnCard(card));
          OK(cudaMemcpy(host.data(), card, 8192, cudaMemcpyDeviceToHost));
          std::fprintf(out, "%d %d", host.front(), host.back());
        })) == "0 a 0 0");
}

TEST_CASE("a listener is told of calls and of what came of them") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          struct Record final : nullgpu::Listener {
            void happened(const nullgpu::Activity& activity) override {
              if (activity.work == nullgpu::Work::Kernel) kernel = activity;
              if (activity.work == nullgpu::Work::HostToDevice) copy = activity;
            }
            void happened(const nullgpu::Call& call) override {
              if (std::string_view(call.name) == "cudaLaunchKernel") launch = call;
              if (std::string_view(call.name) == "cudaMemcpyAsync") transfer = call;
            }
            nullgpu::Activity kernel, copy;
            nullgpu::Call launch, transfer;
          } record;
          nullgpu::listen(&record);
          const cudaStream_t stream = newStream();
          char *host = hostMemory(100), *card = cardMemory(100);
          OK(launchKernel(stream));
          OK(cudaMemcpyAsync(card, host, 100, cudaMemcpyHostToDevice, stream));
          OK(cudaStreamSynchronize(stream));
          nullgpu::listen(nullptr);
          OK(launchKernel(stream));
          OK(cudaStreamSynchronize(stream));
          const nullgpu_counts counters = nullgpu::counters();
          std::fprintf(out, "%s %d %d %d %d %lu %d | %lu %lu %lu %lu", std::string(record.kernel.name).c_str(),
                       int(record.kernel.correlation == record.launch.correlation && record.launch.correlation != 0),
                       int(record.copy.correlation == record.transfer.correlation),
                       int(record.kernel.begin >= record.launch.begin && record.kernel.end > record.kernel.begin),
                       int(record.copy.begin >= record.kernel.end && record.copy.stream == record.kernel.stream),
                       record.copy.bytes, int(record.copy.pinned), counters.launches, counters.allocations,
                       counters.to_card.calls, counters.to_card.bytes);
        })) == "_Z6kernelv 1 1 1 1 100 1 | 2 1 1 100");
}

TEST_CASE("with NULLGPU_REPORT=1 a process tells at its end what happened") {
  const auto work = [](std::FILE*) {
    char value = 1;
    OK(cudaMemcpy(cardMemory(4), &value, 1, cudaMemcpyHostToDevice));
    OK(launchKernel(nullptr));
    OK(cudaDeviceSynchronize());
  };
  const Outcome told = inChild({{"NULLGPU_REPORT", "1"}}, work);
  CHECK_MESSAGE(told.mentions("1 launches, 1 allocations, 0 collectives; copies (bytes): to cards 1 (1)"), told.errors);
  CHECK(inChild({}, work).errors == "");
}
