#include <sys/mman.h>

#include <cstring>

#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

size_t left() {
  size_t left = 0, total = 0;
  OK(cudaMemGetInfo(&left, &total));
  return left;
}

}  // namespace

TEST_CASE("a card has as much memory as it says, and more is an error that can be survived") {
  CHECK(said(inChild({{"NULLGPU_MEMORY", "1MiB"}}, [](std::FILE* out) {
          char* half = cardMemory(512 << 10);
          void* more = half;
          const cudaError_t error = cudaMalloc(&more, (512 << 10) + 1);
          std::fprintf(out, "%zu %s %p ", left(), cudaGetErrorString(error), more);
          std::fprintf(out, "%s ", cudaGetErrorName(cudaGetLastError()));
          OK(cudaSetDevice(1));
          cardMemory(1 << 20);  // another card has memory of its own
          OK(cudaSetDevice(0));
          OK(cudaFree(half));
          std::fprintf(out, "%zu %s", left(), cudaGetErrorName(cudaGetLastError()));
        })) == "524288 out of memory (nil) cudaErrorMemoryAllocation 1048576 cudaSuccess");
}

TEST_CASE("memory is zero at first, and again after it was given back") {
  CHECK(said(inChild({{"NULLGPU_MEMORY", "1MiB"}}, [](std::FILE* out) {
          int sum = 0;
          for (int round = 0; round < 3000; ++round) {  // more than the card's addresses hold at once
            char* card = cardMemory(1 << 20);
            char value = 1;
            OK(cudaMemcpy(&value, card + 5000, 1, cudaMemcpyDeviceToHost));
            sum += value;
            OK(cudaMemset(card, 3, 8192));
            OK(cudaFree(card));
          }
          std::fprintf(out, "%d", sum);
        })) == "0");
}

TEST_CASE("what cudaFreeAsync gives back is there for who needs it") {
  CHECK(said(inChild({{"NULLGPU_MEMORY", "1MiB"}}, [](std::FILE* out) {
          const cudaStream_t stream = newStream();
          void *first = nullptr, *second = nullptr;
          OK(cudaMallocAsync(&first, 1 << 20, stream));
          OK(launchKernel(stream));
          OK(cudaFreeAsync(first, stream));
          OK(cudaMallocAsync(&second, 1 << 20, stream));
          OK(cudaFreeAsync(second, stream));
          std::fprintf(out, "%s ", cudaGetErrorName(cudaFreeAsync(static_cast<char*>(second) + 8, stream)));
          OK(cudaStreamSynchronize(stream));
          std::fprintf(out, "%zu %s", left(), cudaGetErrorName(cudaFree(second)));
        })) == "cudaErrorInvalidValue 1048576 cudaErrorInvalidValue");
}

TEST_CASE("pointers tell where they belong") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          OK(cudaSetDevice(2));
          int local = 0;
          const auto tell = [&](const void* address) {
            cudaPointerAttributes attributes;
            OK(cudaPointerGetAttributes(&attributes, address));
            std::fprintf(out, "%d/%d ", int(attributes.type), attributes.device);
          };
          tell(cardMemory(100) + 99);
          tell(hostMemory(100) + 99);
          tell(&local);
          void* registered = &local;
          OK(cudaHostRegister(registered, sizeof local, 0));
          std::fprintf(out, "%d ", int(cudaHostRegister(registered, sizeof local, 0)));
          tell(&local);
          OK(cudaHostUnregister(&local));
          std::fprintf(out, "%d %d", int(cudaHostUnregister(&local)), int(cudaFreeHost(&local)));
        })) == "2/2 1/2 0/-2 712 1/2 713 1");
}

TEST_CASE("a host that touches a card's memory ends with the place") {
  const Outcome outcome = inChild({}, [](std::FILE*) {
    OK(cudaSetDevice(1));
    *static_cast<volatile char*>(cardMemory(4096)) = 1;
  });
  CHECK(outcome.signal() == SIGSEGV);
  CHECK(outcome.mentions("nullgpu: the host touched memory of card 1 at 0x"));
  CHECK(outcome.mentions("nullgpu_cudart_test"));
}

TEST_CASE("other faults go to who handled them before") {
  const auto touchNothing = [](std::FILE*) {
    cardMemory(100);
    *static_cast<volatile char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) = 1;
  };
  CHECK(inChild({}, [&](std::FILE* out) {
          std::signal(SIGSEGV, [](int) { _exit(42); });
          touchNothing(out);
        }).code() == 42);
  const Outcome standard = inChild({}, touchNothing);
  CHECK(standard.signal() == SIGSEGV);
  CHECK(standard.errors == "");
}

TEST_CASE("variables of CUDA code have their memory on each card") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          static int variable;
          __cudaRegisterVar(nullptr, reinterpret_cast<char*>(&variable), nullptr, "variable", 0, sizeof variable, 0, 0);
          void *first = nullptr, *second = nullptr;
          OK(cudaGetSymbolAddress(&first, &variable));
          OK(cudaSetDevice(1));
          OK(cudaGetSymbolAddress(&second, &variable));
          const int value = 7;
          int read = 0;
          OK(cudaMemcpyToSymbol(&variable, &value, sizeof value, 0, cudaMemcpyHostToDevice));
          OK(cudaMemcpy(&read, second, sizeof read, cudaMemcpyDeviceToHost));
          std::fprintf(out, "%d %d %d %d", int(first != second), read,
                       int(cudaMemcpyToSymbol(&variable, &value, sizeof value, 1, cudaMemcpyHostToDevice)),
                       int(cudaGetSymbolAddress(&first, &read)));
        })) == "1 7 1 13");
}
