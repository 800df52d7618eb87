// Calls as a program that was compiled for CUDA 12 makes them. Offsets are those of its cudaDeviceProp.

#include <array>
#include <cstring>

#include "nullgpu/tests/cuda.h"

using namespace nullgpu::testing;

extern "C" {
cudaError_t cudaGetDeviceProperties_v2(void* properties, int device);
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id,
                                        cudaGraph_t* graph, const cudaGraphNode_t** dependencies, size_t* count);
}

namespace {

constexpr size_t kSize = 1032;
constexpr char kUntouched = 0x5a;

}  // namespace

TEST_CASE("a card's properties stand where CUDA 12 has them") {
  constexpr size_t kMore = 64;
  const std::string both = said(inChild({}, [](std::FILE* out) {
    std::array<char, kSize + kMore> theirs;
    theirs.fill(kUntouched);
    OK(cudaGetDeviceProperties_v2(theirs.data(), 0));
    cudaDeviceProp ours;
    OK(cudaGetDeviceProperties(&ours, 0));
    std::fwrite(theirs.data(), 1, theirs.size(), out);
    std::fwrite(&ours, 1, sizeof ours, out);
  }));
  REQUIRE(both.size() == kSize + kMore + sizeof(cudaDeviceProp));
  const std::string theirs = both.substr(0, kSize + kMore);
  cudaDeviceProp ours;
  std::memcpy(&ours, both.data() + theirs.size(), sizeof ours);
  // Compares a field of ours with the bytes of theirs at an offset.
  const auto at = [&](size_t offset, const auto& field) {
    return std::memcmp(theirs.data() + offset, &field, sizeof field) == 0;
  };
  CHECK(at(0, ours.name));
  CHECK(at(256, ours.uuid));
  CHECK(at(288, ours.totalGlobalMem));
  CHECK(at(308, ours.warpSize));
  CHECK(at(352, ours.totalConstMem));
  CHECK(at(360, ours.major));
  CHECK(at(388, ours.multiProcessorCount));
  CHECK(at(396, ours.integrated));
  CHECK(at(400, ours.canMapHostMemory));
  CHECK(at(408, ours.maxTexture1D));
  CHECK(at(420, ours.maxTexture2D));
  CHECK(at(568, ours.surfaceAlignment));
  CHECK(at(584, ours.pciBusID));
  CHECK(at(604, ours.unifiedAddressing));
  CHECK(at(612, ours.memoryBusWidth));
  CHECK(at(616, ours.l2CacheSize));
  CHECK(at(624, ours.maxThreadsPerMultiProcessor));
  CHECK(at(640, ours.sharedMemPerMultiprocessor));
  CHECK(at(648, ours.regsPerMultiprocessor));
  CHECK(at(672, ours.pageableMemoryAccess));
  CHECK(at(688, ours.cooperativeLaunch));
  CHECK(at(696, ours.sharedMemPerBlockOptin));
  CHECK(at(712, ours.maxBlocksPerMultiProcessor));
  CHECK(at(772, ours.clusterLaunch));
  int clock = 0;
  std::memcpy(&clock, theirs.data() + 348, sizeof clock);
  CHECK(clock > 0);
  CHECK(theirs[kSize - 1] == 0);
  CHECK(theirs[kSize] == kUntouched);
}

TEST_CASE("CUDA 12's question for properties is refused as ours is") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          std::array<char, kSize> theirs;
          std::fprintf(out, "%d %d", int(cudaGetDeviceProperties_v2(nullptr, 0)),
                       int(cudaGetDeviceProperties_v2(theirs.data(), 99)));
        })) == std::to_string(cudaErrorInvalidValue) + " " + std::to_string(cudaErrorInvalidDevice));
}

TEST_CASE("CUDA 12's question about a capture leaves edges out") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          cudaStream_t stream = newStream();
          auto status = cudaStreamCaptureStatusNone;
          unsigned long long id = 0;
          cudaGraph_t graph = nullptr;
          const cudaGraphNode_t* dependencies = nullptr;
          size_t count = 9;
          OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
          OK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count));
          std::fprintf(out, "%d %d %d %zu", int(status == cudaStreamCaptureStatusActive), int(id > 0),
                       int(graph != nullptr), count);
          OK(cudaStreamEndCapture(stream, &graph));
        })) == "1 1 1 0");
}

TEST_CASE("page-locked memory has one address on host and card") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          char* host = hostMemory(64);
          void* card = nullptr;
          OK(cudaHostGetDevicePointer(&card, host, 0));
          std::fprintf(out, "%d %d", int(card == host), int(cudaHostGetDevicePointer(&card, &card, 0)));
        })) == "1 " + std::to_string(cudaErrorInvalidValue));
}

TEST_CASE("attributes of an address fit into CUDA 12's structure") {
  CHECK(said(inChild({}, [](std::FILE* out) {
          char* host = hostMemory(64);
          alignas(cudaPointerAttributes) std::array<char, sizeof(cudaPointerAttributes)> bytes;
          bytes.fill(kUntouched);
          auto* attributes = reinterpret_cast<cudaPointerAttributes*>(bytes.data());
          OK(cudaPointerGetAttributes(attributes, host));
          std::fprintf(out, "%d %d %d", int(attributes->type == cudaMemoryTypeHost),
                       int(attributes->hostPointer == host),
                       int(bytes[24] == kUntouched));  // 24 is where CUDA 12's ends
        })) == "1 1 1");
}
