#include <cuda.h>
#include <cuda_runtime_api.h>

#include <cstring>
#include <string>

#include "nullgpu/tests/child.h"

using nullgpu::testing::inChild;

namespace {

constexpr size_t kChunk = size_t{2} << 20;

size_t freeMemory() {
  size_t left = 0, total = 0;
  cudaMemGetInfo(&left, &total);
  return left;
}

/// Memory of card 0 without an address.
CUresult take(CUmemGenericAllocationHandle* handle, size_t bytes) {
  CUmemAllocationProp wanted = {};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  return cuMemCreate(handle, bytes, &wanted, 0);
}

}  // namespace

TEST_CASE("virtual memory: copies cross the border of two maps, and only what is taken counts") {
  const std::string said = inChild({{"NULLGPU_MEMORY", "8MiB"}}, [](std::FILE* out) {
                             const auto show = [out](int value) { std::fprintf(out, "%d ", value); };
                             const size_t before = freeMemory();
                             CUdeviceptr address = 0;
                             CUmemGenericAllocationHandle handles[2], more = 0;
                             // More addresses than the card has memory.
                             show(cuMemAddressReserve(&address, 16 * kChunk, 0, 0, 0));
                             show(freeMemory() == before);
                             for (size_t each = 0; each < 2; ++each) {
                               show(take(&handles[each], kChunk));
                               show(cuMemMap(address + each * kChunk, kChunk, 0, handles[each], 0));
                             }
                             show(freeMemory() == before - 2 * kChunk);
                             show(take(&more, 4 * kChunk));
                             std::string sent(64, 'x'), got(64, ' ');
                             void* border = reinterpret_cast<void*>(address + kChunk - 32);
                             show(cudaMemcpy(border, sent.data(), 64, cudaMemcpyHostToDevice));
                             show(cudaMemcpy(got.data(), border, 64, cudaMemcpyDeviceToHost));
                             show(sent == got);
                             // Released memory goes back once it is mapped nowhere.
                             for (size_t each = 0; each < 2; ++each) {
                               show(cuMemRelease(handles[each]));
                               show(freeMemory() == before);
                               show(cuMemUnmap(address + each * kChunk, kChunk));
                             }
                             show(freeMemory() == before);
                             show(cuMemAddressFree(address, 16 * kChunk));
                           }).said;
  CHECK(said == "0 1 0 0 0 0 1 2 0 0 1 0 0 0 0 0 0 1 0 ");
}

TEST_CASE("virtual memory: what does not fit is refused") {
  const std::string said = inChild({}, [](std::FILE* out) {
                             CUdeviceptr address = 0;
                             CUmemGenericAllocationHandle handle = 0;
                             std::fprintf(out, "%d ", cuMemAddressReserve(&address, 100, 0, 0, 0));
                             std::fprintf(out, "%d ", take(&handle, 100));
                             std::fprintf(out, "%d ", cuMemMap(0, kChunk, 0, handle, 0));
                             std::fprintf(out, "%d ", cuMemUnmap(0, kChunk));
                             std::fprintf(out, "%d", cuMemAddressFree(0, kChunk));
                           }).said;
  CHECK(said == "1 1 1 1 1");
}
