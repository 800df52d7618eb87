// Calls as a program that was compiled for CUDA 12 makes them. Offsets are those of its cudaDeviceProp.

#include <cuda_runtime_api.h>
#include <doctest/doctest.h>

#include <array>
#include <cstring>

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
  std::array<char, kSize + 64> theirs;
  theirs.fill(kUntouched);
  REQUIRE(cudaGetDeviceProperties_v2(theirs.data(), 0) == cudaSuccess);
  cudaDeviceProp ours;
  REQUIRE(cudaGetDeviceProperties(&ours, 0) == cudaSuccess);
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
  REQUIRE(cudaDeviceGetAttribute(&clock, cudaDevAttrClockRate, 0) == cudaSuccess);
  CHECK(clock > 0);
  CHECK(at(348, clock));
  CHECK(theirs[kSize - 1] == 0);
  CHECK(theirs[kSize] == kUntouched);
  CHECK(cudaGetDeviceProperties_v2(nullptr, 0) == cudaErrorInvalidValue);
  CHECK(cudaGetDeviceProperties_v2(theirs.data(), 99) == cudaErrorInvalidDevice);
}

TEST_CASE("CUDA 12's question about a capture leaves edges out") {
  cudaStream_t stream;
  REQUIRE(cudaStreamCreate(&stream) == cudaSuccess);
  auto status = cudaStreamCaptureStatusNone;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  size_t count = 9;
  REQUIRE(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess);
  CHECK(cudaStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &dependencies, &count) == cudaSuccess);
  CHECK(status == cudaStreamCaptureStatusActive);
  CHECK(id > 0);
  CHECK(graph);
  CHECK(count == 0);
  CHECK(cudaStreamEndCapture(stream, &graph) == cudaSuccess);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
}

TEST_CASE("page-locked memory has one address on host and card") {
  void *host = nullptr, *card = nullptr;
  REQUIRE(cudaMallocHost(&host, 64) == cudaSuccess);
  CHECK(cudaHostGetDevicePointer(&card, host, 0) == cudaSuccess);
  CHECK(card == host);
  CHECK(cudaHostGetDevicePointer(&card, &card, 0) == cudaErrorInvalidValue);
  cudaFreeHost(host);
}

TEST_CASE("attributes of an address fit into CUDA 12's structure") {
  void* host = nullptr;
  REQUIRE(cudaMallocHost(&host, 64) == cudaSuccess);
  std::array<char, sizeof(cudaPointerAttributes)> bytes;
  bytes.fill(kUntouched);
  auto* attributes = reinterpret_cast<cudaPointerAttributes*>(bytes.data());
  CHECK(cudaPointerGetAttributes(attributes, host) == cudaSuccess);
  CHECK(attributes->type == cudaMemoryTypeHost);
  CHECK(attributes->hostPointer == host);
  CHECK(bytes[24] == kUntouched);  // where CUDA 12's ends
  cudaFreeHost(host);
}
