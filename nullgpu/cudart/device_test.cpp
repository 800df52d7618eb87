#include <cstring>

#include "nullgpu/core/cards.h"
#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

namespace {

/// The bus addresses of the visible cards.
std::string buses(const std::string& visible) {
  return said(inChild({{"NULLGPU_CARDS", "3"}, {"CUDA_VISIBLE_DEVICES", visible}}, [](std::FILE* out) {
    int count = -1;
    const cudaError_t error = cudaGetDeviceCount(&count);
    std::fprintf(out, "%d:%d", int(error), count);
    for (int device = 0; device < count; ++device) {
      char bus[32];
      OK(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
      std::fprintf(out, " %s", bus);
    }
  }));
}

}  // namespace

TEST_CASE("CUDA_VISIBLE_DEVICES chooses and orders the cards") {
  const std::string first = nullgpu::cardBus(0), third = nullgpu::cardBus(2);
  CHECK(buses("2,0") == "0:2 " + third + " " + first);
  CHECK(buses(nullgpu::cardUuid(2)) == "0:1 " + third);
  CHECK(buses("") == "100:0");
  CHECK(buses("7") == "100:0");
}

TEST_CASE("a card says that it is none") {
  CHECK(said(inChild({{"NULLGPU_CAPABILITY", "7.5"}, {"NULLGPU_MEMORY", "16GiB"}}, [](std::FILE* out) {
          cudaDeviceProp properties;
          OK(cudaGetDeviceProperties(&properties, 1));
          int processors = 0;
          OK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 1));
          std::fprintf(out, "%s %.4s %02x %d.%d %zu %d %d", properties.name, properties.uuid.bytes,
                       unsigned(properties.uuid.bytes[15]), properties.major, properties.minor,
                       properties.totalGlobalMem, int(processors == properties.multiProcessorCount),
                       int(properties.sharedMemPerBlockOptin));
        })) == "Null GPU (computes nothing) null 02 7.5 17179869184 1 65536");
}

TEST_CASE("a card has the clocks that NVML says of it") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          int clock = 0, memory = 0;
          OK(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0));
          OK(cudaDeviceGetAttribute(&memory, cudaDevAttrMemoryClockRate, 0));
          std::fprintf(out, "%d %d", clock, memory);
        })) == std::to_string(nullgpu::kWorkClock) + "000 " + std::to_string(nullgpu::kMemoryClock) + "000");
}

TEST_CASE("a card has the caches of those that it stands for") {
  for (const auto& [capability, mebibytes] : {std::pair("9.0", "50"), {"8.0", "40"}})
    CHECK(said(inChild({{"NULLGPU_CAPABILITY", capability}}, [](std::FILE* out) {
            cudaDeviceProp properties;
            OK(cudaGetDeviceProperties(&properties, 0));
            std::fprintf(out, "%d", properties.l2CacheSize >> 20);
          })) == mebibytes);
}

TEST_CASE("the bytes of a uuid are those of its text") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          cudaDeviceProp properties;
          OK(cudaGetDeviceProperties(&properties, 3));
          std::string text = "GPU-";
          for (size_t byte = 0; byte < 16; ++byte) {
            char digits[4];
            std::snprintf(digits, sizeof digits, "%02x",
                          unsigned(static_cast<unsigned char>(properties.uuid.bytes[byte])));
            text += digits;
            if (byte == 3 || byte == 5 || byte == 7 || byte == 9) text += '-';
          }
          std::fprintf(out, "%d", int(text == nullgpu::cardUuid(3)));
        })) == "1");
}

TEST_CASE("cards that are not there, peers, and what is not supported") {
  CHECK(said(inChild({{"NULLGPU_CARDS", "2"}}, [](std::FILE* out) {
          int can = -1;
          void* managed = nullptr;
          std::fprintf(out, "%d %d ", int(cudaSetDevice(2)), int(cudaSetDevice(-1)));
          OK(cudaDeviceCanAccessPeer(&can, 0, 1));
          std::fprintf(out, "%d ", can);
          OK(cudaDeviceEnablePeerAccess(1, 0));
          std::fprintf(out, "%d ", int(cudaDeviceEnablePeerAccess(1, 0)));
          std::fprintf(out, "%s", cudaGetErrorString(cudaMallocManaged(&managed, 1)));
        })) == "101 101 1 704 operation not supported");
}

TEST_CASE("launches that no card could do are refused") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          OK(launchKernel(nullptr));  // registers the kernel
          int unknown = 0, blocks = 0;
          std::fprintf(out, "%d %d ", int(cudaLaunchKernel(&unknown, dim3(1), dim3(1), nullptr, 0, nullptr)),
                       int(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &unknown, 128, 0)));
          std::fprintf(out, "%s", cudaGetErrorName(cudaGetLastError()));
        })) == "98 98 cudaErrorInvalidDeviceFunction");
}
