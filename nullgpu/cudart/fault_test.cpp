#include <filesystem>

#include "nullgpu/core/cards.h"
#include "nullgpu/core/machine.h"
#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

/// The results of allocations of `bytes`.
std::string allocations(const std::string& faults, size_t bytes, int count) {
  return said(inChild({{"NULLGPU_FAULTS", faults}}, [&](std::FILE* out) {
    for (int each = 0; each < count; ++each) {
      void* address = nullptr;
      std::fprintf(out, "%d", int(cudaMalloc(&address, bytes)));
    }
  }));
}

}  // namespace

TEST_CASE("memory ends at the N-th allocation, or at N bytes") {
  CHECK(allocations("allocation=3", 4096, 5) == "00222");
  CHECK(allocations("memory=12KiB", 4096, 5) == "00022");
}

TEST_CASE("from the N-th launch on every call fails") {
  CHECK(said(inChild({{"NULLGPU_FAULTS", "launch=3"}}, [](std::FILE* out) {
          const cudaEvent_t event = newEvent();
          Gate gate(nullptr);
          for (int launch = 0; launch < 4; ++launch) std::fprintf(out, "%d ", int(launchKernel(nullptr)));
          void* address = nullptr;
          int device = -1;
          std::fprintf(out, "%d %d %d %d %d | ", int(cudaMalloc(&address, 1)), int(cudaEventQuery(event)),
                       int(cudaEventDestroy(event)), int(cudaDeviceSynchronize()), int(cudaStreamSynchronize(nullptr)));
          std::fprintf(out, "%d %d %d %s", int(cudaGetLastError()), int(cudaGetLastError()),
                       int(cudaGetDevice(&device)), cudaGetErrorString(cudaPeekAtLastError()));
        })) == "0 0 700 700 700 700 700 700 700 | 700 700 0 an illegal memory access was encountered");
}

TEST_CASE("who waits when an error sticks is woken with it") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          class Fails final : public nullgpu::Operation {
           public:
            bool advance() override {
              nullgpu::stick(cudaErrorLaunchFailure);
              return false;
            }
          };
          const cudaStream_t stream = newStream();
          OK(nullgpu::enqueue(stream, std::make_shared<Fails>()));
          std::fprintf(out, "%s", cudaGetErrorName(cudaStreamSynchronize(stream)));
        })) == "cudaErrorLaunchFailure");
}

TEST_CASE("a card that falls off fails every call, and is lost") {
  CHECK(said(inChild({{"NULLGPU_FAULTS", "lost=2"}}, [](std::FILE* out) {
          const bool before = nullgpu::machine().state(0).lost;
          OK(launchKernel(nullptr));
          std::fprintf(out, "%s ", cudaGetErrorName(launchKernel(nullptr)));
          std::fprintf(out, "%s %d %d", cudaGetErrorName(cudaDeviceSynchronize()), int(before),
                       int(nullgpu::machine().state(0).lost));
        })) == "cudaErrorUnknown cudaErrorUnknown 0 1");
}

TEST_CASE("a card that another process lost is lost for who waits for it") {
  char machine[] = "/tmp/nullgpu-machine-XXXXXX";
  REQUIRE(mkdtemp(machine));
  CHECK(said(inChild({{"NULLGPU_MACHINE", std::string(machine) + "/file"}}, [](std::FILE* out) {
          if (fork() == 0) {
            nullgpu::machine().lose(0);
            _exit(0);
          }
          wait(nullptr);
          std::fprintf(out, "%s", cudaGetErrorName(cudaDeviceSynchronize()));
        })) == "cudaErrorUnknown");
  std::filesystem::remove_all(machine);
}

TEST_CASE("faults of another rank are none") {
  CHECK(said(inChild({{"NULLGPU_FAULTS", "launch=1,rank=1"}, {"RANK", "0"}},
                     [](std::FILE* out) { std::fprintf(out, "%d", int(launchKernel(nullptr))); })) == "0");
}

TEST_CASE("a process forked after the first call has no cards; one forked before has") {
  const auto child = [](std::FILE* out) {
    std::fflush(out);
    const pid_t pid = fork();
    if (pid == 0) {
      int count = -1;
      std::fprintf(out, "%d ", int(cudaGetDeviceCount(&count)));
      std::fprintf(out, "%d ", int(cudaDeviceSynchronize()));
      std::exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    std::fseek(out, 0, SEEK_END);
    std::fprintf(out, "| %d ", status);
  };
  CHECK(said(inChild({}, [&](std::FILE* out) {
          child(out);
          OK(launchKernel(nullptr));
          child(out);
          OK(cudaDeviceSynchronize());
        })) == "0 0 | 0 3 3 | 0 ");
}
